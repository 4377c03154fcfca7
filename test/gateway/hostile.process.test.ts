/**
 * Rule 11 on a real cluster: bytes that are made to break their reader, and ballots that are made to end a register, at every
 * listener. All processes live on, in the memory they had, and the cluster goes on serving.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { openAcceptor } from 'baton/caspaxos';
import { formatAddress, resolveSecrets } from 'baton/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { Doors } from './doors.ts';

const MEGABYTE = 1024 * 1024;
/** What one of the frames would take, were it unpacked: sixty lists of sixteen million places. */
const LISTS = Buffer.from(Array.from({ length: 200 }, () => [0xdd, 0x01, 0xff, 0xff, 0xff]).flat());
const NESTED = [LISTS, Buffer.alloc(MEGABYTE, 0x91), Buffer.alloc(MEGABYTE, 0x90), Buffer.alloc(1000, 0xdf)];

let doors: Doors;

beforeAll(async () => {
  doors = await Doors.open({
    regions: ['west', 'east', 'north'],
    acceptors: 5,
    partitionSets: 2,
    consistency: 'Strong',
  });
}, 280_000);

afterAll(() => doors?.close());

function framed(payload: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
}

/** Sends all that, and waits until the other side has ended the connection, or for a moment. */
async function send(address: { host: string; port: number }, parts: readonly Buffer[]): Promise<void> {
  await new Promise<void>((resolve) => {
    const socket = connect({ ...address, allowHalfOpen: false });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    socket.resume();
    for (const part of parts) socket.write(part);
    socket.end();
    setTimeout(() => socket.destroy(), 2000);
  });
}

function secrets() {
  const readFile = (path: string): string => readFileSync(path, 'utf8');
  return resolveSecrets(doors.cluster.config, { readFile, env: process.env });
}

async function stillServes(): Promise<void> {
  await doors.calm();
  const id = `d-${Date.now()}`;
  const { database } = await doors.client().databases.createIfNotExists({ id: 'hostile' });
  const { container } = await database.containers.createIfNotExists({ id: 'c', partitionKey: '/id' });
  await until('a document can be written and read', async () => {
    const { resource } = await container.items.upsert({ id });
    return resource?.id === id;
  });
  expect(doors.lost).toEqual([]);
}

test('frames that announce what they do not hold end their connections, and nothing else', async () => {
  const before = doors.cluster.processes.map(
    ({ identity }) => [identity!.pid, residentBytes(identity!.pid)] as const,
  );
  const { acceptors } = doors.cluster.config;
  for (const payload of NESTED) {
    for (const { serve } of acceptors) {
      const upgrade =
        'GET /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: baton-acceptor/1\r\n' +
        `Authorization: Bearer ${secrets().acceptor?.reveal() ?? ''}\r\n\r\n`;
      await send(serve!.listen, [Buffer.from(upgrade), framed(payload)]);
    }
    for (const { listen } of doors.nodes)
      await send(listen, [framed(payload.subarray(0, 8000)), framed(payload)]);
  }
  for (const [pid, bytes] of before) expect(residentBytes(pid) - bytes).toBeLessThan(200 * MEGABYTE);
  await stillServes();
});

test('bodies and headers without end are refused by the doors', async () => {
  const deep = '['.repeat(MEGABYTE / 2);
  for (const region of [undefined, ...doors.regions]) {
    for (const body of [deep, `{"id":${deep}`, `{"id":"a","x":${deep}${']'.repeat(MEGABYTE / 2)}}`]) {
      const answer = await fetch(`${doors.endpoint(region)}/dbs`, {
        method: 'POST',
        body,
        headers: {
          authorization: 'type%3dmaster%26ver%3d1.0%26sig%3dx',
          'x-ms-date': new Date().toUTCString(),
        },
      });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    }
  }
  for (const { http } of doors.nodes) {
    const name = doors.partitionSets[0]!;
    const answer = await fetch(`http://${formatAddress(http!)}/v1/partition-sets/${name}/intents`, {
      method: 'POST',
      body: deep,
      headers: { 'content-type': 'application/json', ...doors.operator },
    });
    expect([400, 413]).toContain(answer.status);
  }
  await stillServes();
});

test('a ballot at the end of all numbers is refused, and one far ahead on a minority of acceptors stops nothing', async () => {
  const token = secrets().acceptor?.reveal();
  const { path, acceptors } = doors.cluster.config;
  expect(path).toBeDefined();
  for (const { url } of acceptors.slice(0, 2)) {
    const acceptor = openAcceptor(url, { token, timeoutMs: 5000 });
    const set = (await acceptor.describe()).configuration!.number;
    for (const name of doors.partitionSets) {
      const ask = async (counter: number): Promise<unknown> => {
        const message = { type: '1a', ballot: { counter, proposer: 'hostile', incarnation: 1 } } as const;
        return (await acceptor.handle([{ key: `failover/${name}`, set, message }], 0))[0];
      };
      expect(await ask(2 ** 52 - 1)).toMatchObject({ type: 'failed', code: 'BALLOT_ABSURD' });
      expect(await ask(Number.MAX_SAFE_INTEGER)).toMatchObject({ type: 'failed', code: 'BALLOT_ABSURD' });
      // Within what an acceptor takes, and far beyond what a proposer follows.
      expect(await ask(2 ** 46)).toMatchObject({ type: '1b' });
    }
    await acceptor.close();
  }
  // Through a failover too: every register is changed by processes that never met those promises before.
  const views = await doors.views();
  const writer = views.get(doors.partitionSets[0]!)!.writeRegion!;
  const node = doors.nodes.find(({ region }) => region === writer)!;
  await doors.cluster.kill(node.name);
  await doors.left(writer);
  await doors.cluster.startAgain(node.name);
  await stillServes();
});
