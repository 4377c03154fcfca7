/** A client of nodes that answer as the test says, and what its tests ask of both. */
import { createServer } from 'node:net';
import { BatonClient, BatonError, type ConnectOptions } from 'baton/client';
import { expect, onTestFinished } from 'vitest';
import { type LeapingHost, ringingHost } from '../caspaxos/leaping-host.ts';
import { FakeAccount, type FakeAccountOptions, found, PATIENT } from './fake-node.ts';

/** Longer than any test. */
export const LONG_MS = 600_000;

export async function connect(
  account: FakeAccount,
  options: Partial<ConnectOptions> = {},
): Promise<BatonClient> {
  const client = await BatonClient.connect({
    account: 'shop',
    endpoints: account.endpoints,
    pacing: PATIENT,
    timeoutMs: 60_000,
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

export async function scene(
  options: FakeAccountOptions = {},
  more: Partial<ConnectOptions> = {},
): Promise<{ account: FakeAccount; client: BatonClient }> {
  const account = await FakeAccount.start(options);
  return { account, client: await connect(account, more) };
}

/** One whose deadlines come when the test leaps over them. Between rounds it would wait for ever. */
export async function patientScene(
  options: FakeAccountOptions = {},
): Promise<{ account: FakeAccount; client: BatonClient; host: LeapingHost }> {
  const host = ringingHost();
  const pacing = {
    ...PATIENT,
    firstBackoffMs: LONG_MS,
    mostBackoffMs: LONG_MS,
    mostSoughtBackoffMs: LONG_MS,
  };
  return { ...(await scene(options, { host, pacing, timeoutMs: LONG_MS })), host };
}

/** What came over its connections before has been taken in by the client when this resolves: answers keep their order. */
export async function hasHeardAll({ nodes }: FakeAccount, client: BatonClient): Promise<void> {
  const [last, ...others] = [...nodes.values()].toReversed();
  for (const node of others) node.script.read = () => ({ outcome: 'refused', code: 'NOT_READY' });
  last!.script.read = ({ id }) => found(id);
  await client.container('items').read('heard');
}

export function regionsIn(error: BatonError): Set<string> {
  return new Set(error.diagnostics!.attempts.map(({ region }) => region));
}

/** Where connections are taken and nothing is ever said. */
export async function silentAddress(): Promise<string> {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    silent.close();
  });
  return `127.0.0.1:${(silent.address() as { port: number }).port}`;
}

export async function errorOf(promise: Promise<unknown>): Promise<BatonError> {
  const error: unknown = await promise.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BatonError);
  return error as BatonError;
}
