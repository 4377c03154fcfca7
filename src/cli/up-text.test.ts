/** What `baton up` prints of its secrets: on a terminal, where nothing keeps them, and elsewhere. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type LocalCluster, parseClusterFile } from '../server/index.ts';
import { describeJson, describePretty } from './up-text.ts';

const FILE = `
cluster: demo
regions: [{ name: west, nodes: [{ name: west-1, listen: 127.0.0.1:4101, http: 127.0.0.1:4201 }] }]
acceptors: [{ name: a1, url: http://127.0.0.1:4301, data: ./a1 }]
gateways: [{ name: gateway, listen: 127.0.0.1:4400 }]
tokens: { client: { file: client.token }, operator: { file: operator.token } }
keys: { primary: { file: primary } }
`;
const KEY = Buffer.alloc(48, 'k').toString('base64');

function cluster(): LocalCluster {
  const directory = mkdtempSync(join(tmpdir(), 'baton-up-text-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'primary'), `${KEY}\n`);
  const config = parseClusterFile(FILE, { path: join(directory, 'baton.yaml') });
  return { config, directory, page: 'http://127.0.0.1:4201/#token=secret' } as LocalCluster;
}

test('a terminal shows the address with the token, and a program with the key', () => {
  const text = describePretty(cluster(), 1, true);
  for (const secret of ['#token=secret', KEY]) expect(text).toContain(secret);
});

test('a log and JSON say which files have them', () => {
  const one = cluster();
  for (const text of [describePretty(one, 1, false), JSON.stringify(describeJson(one))]) {
    for (const secret of ['secret', KEY]) expect(text).not.toContain(secret);
    for (const file of ['operator.token', 'client.token', 'primary'])
      expect(text).toContain(join(one.directory, file));
  }
});
