/** How operations of the SDK end that no node carries out: at the deadline, by the caller, refused. */
import { BatonError } from 'baton/client';
import { describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { FakeAccount, NEVER } from './fake-node.ts';
import {
  connect,
  errorOf,
  hasHeardAll,
  LONG_MS,
  patientScene,
  regionsIn,
  scene,
  silentAddress,
} from './scripted-scene.ts';

describe('how it ends', () => {
  test('at the deadline, unknown if a node has it', async () => {
    const { account, client, host } = await patientScene();
    account.node('west').script.write = () => NEVER;
    const failing = errorOf(client.container('items').create({ id: 'a' }));
    await until('west has it', () => account.node('west').count('write') > 0);
    // West has been waited for long enough, half of the time.
    host.leap(LONG_MS / 2);
    await until('north has refused it', () => account.node('north').count('write') > 0);
    host.leap(LONG_MS);
    const error = await failing;
    expect(error).toMatchObject({ code: 'DEADLINE', outcome: 'unknown', retryable: true });
    expect(error.message).toContain('Tried: ');
    expect(regionsIn(error)).toContain('east');
  });

  test('at the deadline, not applied if every node refused', async () => {
    const { account, client, host } = await patientScene();
    const failing = errorOf(client.container('items').create({ id: 'a' }));
    const nodes = [...account.nodes.values()];
    await until('every node has refused it', () => nodes.every((node) => node.count('write') > 0));
    await hasHeardAll(account, client);
    host.leap(LONG_MS);
    const error = await failing;
    expect(error).toMatchObject({ code: 'DEADLINE', outcome: 'not applied' });
    expect(error.diagnostics!.attempts.every(({ what }) => what === 'NOT_WRITER')).toBe(true);
    expect(error.diagnostics!.durationMs).toBeGreaterThanOrEqual(LONG_MS);
  });

  test('with nobody there: what was tried, and certainly not applied', async () => {
    const { account, client } = await scene();
    for (const node of account.nodes.values()) await node.stop();
    const items = client.container('items');
    const hasTriedAll = (error: BatonError): boolean =>
      error.code === 'UNREACHABLE' && regionsIn(error).size === account.nodes.size;
    // Until then a write may be handed to a connection that is lost already, and nobody knows what became of it.
    await until('the client has noticed', async () =>
      hasTriedAll(await errorOf(items.read('a', { timeoutMs: 500 }))),
    );
    const error = await until('a write has tried all of them in its time', async () => {
      const failed = await errorOf(items.create({ id: 'a' }, { timeoutMs: 500 }));
      return hasTriedAll(failed) ? failed : undefined;
    });
    expect(error).toMatchObject({ outcome: 'not applied', retryable: true });
  });

  test('a region that never says hello has not got the write', async () => {
    const account = await FakeAccount.start({ regions: ['west'] });
    const seed = account.node('west').address;
    const address = await silentAddress();
    const [west] = account.map.regions;
    account.map = { ...account.map, regions: [{ name: 'west', nodes: [{ ...west!.nodes[0]!, address }] }] };
    const items = (await connect(account, { endpoints: [seed] })).container('items');
    const late = await errorOf(items.create({ id: 'a' }, { timeoutMs: 300 }));
    expect(late.outcome).toBe('not applied');
    const signal = AbortSignal.timeout(50);
    const aborted = await errorOf(items.create({ id: 'a' }, { signal }));
    expect(aborted).toMatchObject({ code: 'ABORTED', outcome: 'not applied', cause: signal.reason as Error });
  });

  test('when the caller gives up, at once', async () => {
    const { account, client } = await scene();
    let isThere = false;
    account.node('west').script.write = () => {
      isThere = true;
      return NEVER;
    };
    const caller = new AbortController();
    const failing = errorOf(client.container('items').create({ id: 'a' }, { signal: caller.signal }));
    await until('the write is there', () => isThere);
    caller.abort(new Error('enough'));
    const error = await failing;
    expect(error).toMatchObject({ code: 'ABORTED', outcome: 'unknown', cause: new Error('enough') });
    expect(client.inFlight).toBe(0);
    const early = await errorOf(
      client.container('items').create({ id: 'a' }, { signal: AbortSignal.abort() }),
    );
    expect(early).toMatchObject({ code: 'ABORTED', outcome: 'not applied' });
  });

  test('a rejected write says how, and is not tried elsewhere', async () => {
    const { account, client } = await scene();
    account.node('west').script.write = () => ({
      outcome: 'done',
      results: [{ status: 412, message: 'The item is not at the version that the request names.' }],
      position: { epoch: 2 ** 20, lsn: 5 },
    });
    const error = await errorOf(client.container('items').replace('a', { id: 'a' }, { ifMatch: '"1-1"' }));
    expect(error).toMatchObject({ code: 'PRECONDITION_FAILED', status: 412, outcome: 'not applied' });
    expect(error.diagnostics!.attempts).toHaveLength(1);
  });

  test('an answer that nobody can read leaves the outcome unknown', async () => {
    const { account, client, host } = await patientScene({ regions: ['west'] });
    account.node('west').script.any = () => Buffer.from('what?');
    const failing = errorOf(client.container('items').create({ id: 'a' }));
    await until('it was answered', () => account.node('west').count('write') > 0);
    account.node('west').script = {};
    await hasHeardAll(account, client);
    host.leap(LONG_MS);
    const error = await failing;
    expect(error.outcome).toBe('unknown');
    expect(error.diagnostics!.attempts[0]!.what).toBe('ANSWER_MALFORMED');
  });

  test('a busy writer is asked again, and THROTTLED at the deadline', async () => {
    const { account, client, host } = await patientScene({ regions: ['west'] });
    let asked = 0;
    // After the last answer it waits for the deadline: an attempt that is under way then would be unknown.
    account.node('west').script.write = () => {
      asked += 1;
      return { outcome: 'refused', code: 'TOO_MANY_REQUESTS', retryAfterMs: asked < 3 ? 10 : 2 * LONG_MS };
    };
    const failing = errorOf(client.container('items').create({ id: 'a' }));
    await until('it was asked three times', () => asked === 3);
    await hasHeardAll(account, client);
    host.leap(LONG_MS);
    const error = await failing;
    expect(error).toMatchObject({ code: 'THROTTLED', outcome: 'not applied', retryable: true });
    expect(error.diagnostics!.attempts.length).toBe(3);
  });

  test('no more operations at once than the client may have', async () => {
    const { account, client } = await scene({}, { maxInFlight: 2 });
    account.node('west').script.write = () => NEVER;
    const items = client.container('items');
    const two = [errorOf(items.create({ id: 'a' })), errorOf(items.create({ id: 'b' }))];
    const error = await errorOf(items.create({ id: 'c' }));
    expect(error).toMatchObject({ code: 'THROTTLED', outcome: 'not applied' });
    await client.close();
    expect((await Promise.all(two)).map(({ code }) => code)).toEqual(['CLIENT_CLOSED', 'CLIENT_CLOSED']);
  });

  test('a level above the account is refused without asking anybody', async () => {
    const { account, client } = await scene({ consistency: 'Session' });
    const error = await errorOf(client.container('items').read('a', { consistency: 'Strong' }));
    expect(error).toMatchObject({ code: 'LEVEL_TOO_STRONG' });
    expect([...account.nodes.values()].map((node) => node.count('read'))).toEqual([0, 0, 0]);
  });

  test('what cannot be sent is refused with a sentence', async () => {
    const { client } = await scene({ partitionKey: '/customer' });
    const items = client.container<object>('items');
    const errors = await Promise.all([
      errorOf(items.read('a')),
      errorOf(items.create([])),
      errorOf(items.create({ id: 'a', customer: {} })),
      errorOf(items.create({ id: 'a', customer: 1n })),
      errorOf(items.read('a', { partitionKey: ['x', 'y'] })),
      errorOf(items.read('a', { partitionKey: 'x', timeoutMs: -1 })),
      errorOf(items.read('a', { partitionKey: 'x', timeoutMs: Infinity })),
      errorOf(items.delete(7 as unknown as string, { partitionKey: 'x' })),
      errorOf(client.container('nothing').read('a')),
    ]);
    expect(errors.map(({ code }) => code)).toEqual([
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'CONTAINER_UNKNOWN',
    ]);
    expect(errors[0].message).toBe('Container items is partitioned by /customer: give the partitionKey.');
  });
});
