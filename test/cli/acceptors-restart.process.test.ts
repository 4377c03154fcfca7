/** `baton acceptors check --restart` with real servers: it asks for the restart, a program obeys, and it says what was kept. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { openCluster } from 'baton/caspaxos';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newPlace } from '../conformance/store.ts';
import { AcceptorProcess } from '../process/support/acceptor-process.ts';
import { Nursery } from '../process/support/nursery.ts';
import { startEtcd } from '../stores/servers/etcd.ts';
import { startPostgres } from '../stores/servers/postgres.ts';
import { startRedis } from '../stores/servers/redis.ts';
import type { StoreServer } from '../stores/servers/server.ts';
import { needProgram } from '../support/programs.ts';
import { CLI } from './run-cli.ts';

interface Checked {
  readonly code: number | null;
  readonly verdict: string;
  readonly restart: { readonly result: string; readonly remark?: string };
}

/** Runs the check, and `restart` when it asks for it. */
async function check(
  url: string,
  restart: () => Promise<void>,
  ...flags: readonly string[]
): Promise<Checked> {
  const quick = ['--races', '1', '--samples', '1', '--timeout-ms', '10000', '-f', 'json'];
  const child = spawn(process.execPath, [CLI, 'acceptors', 'check', url, '--restart', ...quick, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (lines.push(line) > 1) continue;
    expect(JSON.parse(line)).toEqual({ event: 'restart', url: expect.any(String) });
    await restart();
  }
  const [code] = await exited;
  const report = JSON.parse(lines.slice(1).join('\n')) as {
    acceptors: { verdict: string; checks: ({ name: string } & Checked['restart'])[] }[];
  };
  const { verdict, checks } = report.acceptors[0]!;
  const { result, remark } = checks.find(({ name }) => name === 'restart')!;
  return { code, verdict, restart: { result, ...(remark !== undefined && { remark }) } };
}

const PASSED: Checked = {
  code: 0,
  verdict: 'ok',
  restart: { result: 'passed', remark: expect.stringContaining('were answered before it ended') as string },
};

describe.each([
  ['postgres', 'postgres', startPostgres],
  ['redis-server', 'redis', startRedis],
  ['etcd', 'etcd', startEtcd],
] as const)('%s', (program, name, begin) => {
  test('keeps what it answered, after a clean stop and after a kill', async (context) => {
    needProgram(context, program);
    const server: StoreServer = await begin();
    onTestFinished(() => server.close());
    for (const ending of ['stop', 'kill'] as const) {
      const restart = async (): Promise<void> => {
        await server[ending]();
        await server.start();
      };
      expect(await check(server.urlOf(newPlace(name)), restart)).toEqual(PASSED);
    }
  });
});

test('an acceptor service keeps its promises', async () => {
  const nursery = new Nursery();
  onTestFinished(() => nursery.close());
  const acceptor = await AcceptorProcess.start(nursery, 'a');
  const cluster = await openCluster({ acceptors: [acceptor.url] });
  await cluster.change('k', () => 1);
  await cluster.close();
  const restart = async (): Promise<void> => {
    await acceptor.kill();
    await acceptor.restart();
  };
  expect(await check(acceptor.url, restart)).toEqual(PASSED);
});

test('a server that forgets is found out, and one that nobody restarts is not judged', async (context) => {
  needProgram(context, 'redis-server');
  const server = await startRedis();
  onTestFinished(() => server.close());
  const url = server.urlOf(newPlace('redis'));
  const forgetful = await check(url, () => server.empty());
  expect(forgetful).toMatchObject({ code: 1, verdict: 'failed', restart: { result: 'failed' } });
  const nobody = await check(url, async () => {}, '--wait', '1');
  expect(nobody).toMatchObject({ code: 1, restart: { result: 'not done' } });
});
