import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findCluster } from './find.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-find-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function cluster(folder: string, name: string, more = ''): string {
  mkdirSync(join(directory, folder), { recursive: true });
  const path = join(directory, folder, 'baton.yaml');
  writeFileSync(
    path,
    `cluster: ${name}
regions: [{ name: west, nodes: [{ name: west-1, listen: '127.0.0.1:4101', http: '127.0.0.1:4201', data: ./west-1 }] }]
acceptors: [{ name: a1, url: 'http://127.0.0.1:4001', data: ./a1 }]
${more}`,
  );
  return path;
}

async function found(flag?: string, env: Record<string, string> = {}): Promise<string> {
  return (await findCluster(flag, { env, cwd: directory })).name;
}

describe('the cluster', () => {
  it('is the one that the flag names, then the environment, then the usual places', async () => {
    cluster('.', 'file');
    expect(await found()).toBe('file');
    cluster('baton-data', 'directory');
    expect(await found()).toBe('directory');
    cluster('elsewhere', 'data');
    expect(await found(undefined, { BATON_DATA: 'elsewhere' })).toBe('data');
    const named = cluster('named', 'named');
    expect(await found(undefined, { BATON_CLUSTER: named, BATON_DATA: 'elsewhere' })).toBe('named');
    expect(await found('elsewhere', { BATON_CLUSTER: named })).toBe('data');
  });

  it('is known to `baton up` without --data where that looks by itself, and nowhere else', async () => {
    const flagOf = async (flag: string, env: Record<string, string> = {}): Promise<string> =>
      (await findCluster(flag, { env, cwd: directory })).dataFlag;
    for (const folder of ['baton-data', 'two']) cluster(folder, folder);
    expect(await flagOf('baton-data')).toBe('');
    expect(await flagOf('two')).toBe(' --data ./two');
    expect(await flagOf('two', { BATON_DATA: 'two' })).toBe('');
    expect(await flagOf('baton-data', { BATON_DATA: 'two' })).toBe(' --data ./baton-data');
    const { dataFlag } = await findCluster(join(directory, 'two'), {
      env: {},
      cwd: join(directory, 'baton-data'),
    });
    expect(dataFlag).toBe(` --data ${join(directory, 'two')}`);
  });

  it('is asked for when there is none', async () => {
    await expect(found()).rejects.toMatchObject({ code: 'CLUSTER_NOT_FOUND', exit: 2 });
  });

  it('is not looked for elsewhere when the usual directory cannot be looked into', async () => {
    cluster('.', 'file');
    symlinkSync('baton-data', join(directory, 'baton-data'));
    const path = join(directory, 'baton-data', 'baton.yaml');
    for (const flag of [undefined, 'baton-data/baton.yaml'])
      await expect(found(flag)).rejects.toMatchObject({
        code: 'USAGE',
        message: `The cluster file ${path} cannot be read: ELOOP.`,
      });
  });

  it('has a file whose errors are shown as they are', async () => {
    writeFileSync(join(directory, 'baton.yaml'), 'cluster: [');
    await expect(found()).rejects.toMatchObject({ code: 'USAGE' });
    await expect(found('nowhere.yaml')).rejects.toThrow('there is none');
  });

  it('has nodes, partition-sets and the operator’s token', async () => {
    cluster(
      '.',
      'demo',
      'tokens: { operator: { env: OPERATOR_TOKEN } }\ncontainers: [{ name: items, partitionSets: 4 }]',
    );
    const { nodes, firstPlaces, credentials } = await findCluster(undefined, {
      env: { OPERATOR_TOKEN: 'a-secret-of-operators-0123456789' },
      cwd: directory,
    });
    expect(nodes).toEqual([
      { name: 'west-1', region: 'west', column: 0, http: { host: '127.0.0.1', port: 4201 } },
    ]);
    expect([...firstPlaces.keys()]).toEqual(['items-00', 'items-01', 'items-02', 'items-03']);
    expect(credentials).toEqual({ token: 'a-secret-of-operators-0123456789' });
    await expect(findCluster(undefined, { env: {}, cwd: directory })).rejects.toThrow(
      'OPERATOR_TOKEN is not set',
    );
  });

  it('has nodes that listen everywhere and are reached where their peers reach them', async () => {
    cluster('.', 'demo', 'tls: { ca: ca.pem, cert: "{name}.pem", key: "{name}.key" }');
    const path = join(directory, 'baton.yaml');
    writeFileSync(
      path,
      `cluster: demo
regions: [{ name: west, nodes: [{ name: west-1, listen: '0.0.0.0:4101', address: 'west.example:4101', http: '0.0.0.0:4201', data: ./w }] }]
acceptors: [{ name: a1, url: 'https://10.0.0.1:4001' }]
tls: { ca: ca.pem, cert: "{name}.pem", key: "{name}.key" }
tokens: { acceptor: { env: X } }
`,
    );
    await expect(found()).rejects.toThrow('certificate of the authority cannot be read');
    writeFileSync(join(directory, 'ca.pem'), 'authority');
    const { nodes, credentials } = await findCluster(undefined, { env: {}, cwd: directory });
    expect(nodes[0]!.http).toEqual({ host: 'west.example', port: 4201 });
    expect(credentials).toEqual({ tls: { ca: 'authority' } });
    writeFileSync(join(directory, 'operator.pem'), 'certificate');
    writeFileSync(join(directory, 'operator.key'), 'key');
    const again = await findCluster(undefined, { env: {}, cwd: directory });
    expect(again.credentials.tls).toEqual({ ca: 'authority', cert: 'certificate', key: 'key' });
  });
});
