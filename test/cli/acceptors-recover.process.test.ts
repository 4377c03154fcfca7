/** `baton acceptors recover` with acceptor services that are processes: two of three die for good, and everything goes on elsewhere. */
import { openCluster } from 'baton/caspaxos';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { AcceptorProcess } from '../process/support/acceptor-process.ts';
import { Nursery } from '../process/support/nursery.ts';
import { runCli } from './run-cli.ts';

let nursery: Nursery;

beforeAll(() => {
  nursery = new Nursery();
});

afterAll(async () => {
  await nursery.close();
});

function startAll(names: readonly string[]): Promise<AcceptorProcess[]> {
  return Promise.all(names.map((name) => AcceptorProcess.start(nursery, name)));
}

test('the registers of a lost majority are recovered into new services', async () => {
  const [survivor, ...others] = (await startAll(['a1', 'a2', 'a3'])) as [
    AcceptorProcess,
    ...AcceptorProcess[],
  ];
  const old = await openCluster({
    acceptors: [survivor, ...others].map(({ url }) => url),
    timeoutMs: 60_000,
  });
  onTestFinished(() => old.close());
  const keys = Array.from({ length: 50 }, (_, at) => `register-${at}`);
  await Promise.all(keys.map((key) => old.change(key, () => key)));
  await old.delete(keys[0]!);
  // With these two gone, every later change would need the survivor: so it has all that there is.
  await others[0]!.kill();
  await Promise.all(keys.slice(1).map((key) => old.change(key, (value: string | undefined) => `${value}!`)));
  await old.change(keys[0]!, () => undefined);
  await others[1]!.kill();

  const next = await startAll(['b1', 'b2', 'b3']);
  const flags = ['--from', survivor.url, '--to', ...next.map(({ url }) => url), '-f', 'json'];
  const unasked = await runCli('acceptors', 'recover', ...flags);
  expect([unasked.code, unasked.stdout]).toEqual([1, '']);
  expect(unasked.stderr).toMatch(/\[ANSWER_NEEDED\]\n$/);
  const { code, stdout } = await runCli('acceptors', 'recover', ...flags, '--changes-may-be-lost');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ registers: keys.length, tombstones: 1, from: [survivor.url] });

  const recovered = await openCluster({ acceptors: next.map(({ url }) => url), timeoutMs: 60_000 });
  onTestFinished(() => recovered.close());
  for (const key of keys.slice(1)) expect((await recovered.read(key)).value).toBe(`${key}!`);
  expect((await recovered.read(keys[0]!)).value).toBeUndefined();
  expect(await recovered.change('another', () => 1)).toMatchObject({ outcome: 'committed' });
  expect(await old.change(keys[1]!, () => 'late', { timeoutMs: 300 })).not.toMatchObject({
    outcome: 'committed',
  });
});
