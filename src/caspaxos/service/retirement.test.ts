import { cp, rm } from 'node:fs/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { errorOf } from '../../../test/caspaxos/clusters.ts';
import { TestService } from '../../../test/caspaxos/services.ts';
import { accept, promise, query, typesOf } from '../../../test/conformance/messages.ts';
import { failNextCommit, failNextWrite } from '../../../test/support/failing-disk.ts';
import { until } from '../../../test/support/until.ts';
import { diskFull } from '../errors.ts';
import { ServiceAcceptor } from './client.ts';
import { RecordTable } from './record-table.ts';

const BEHIND = { code: 'ACCEPTOR_BEHIND', message: expect.stringContaining('as from an old copy') };

function clientAt(url: string): ServiceAcceptor {
  const client = new ServiceAcceptor(new URL(url), { timeoutMs: 60_000 });
  onTestFinished(() => client.close());
  return client;
}

/** A service on an old copy of its directory; `finder` has seen more of it, and `user` has not. */
async function putBack(): Promise<{
  readonly service: TestService;
  readonly finder: ServiceAcceptor;
  readonly user: ServiceAcceptor;
}> {
  const service = await TestService.start();
  const [finder, user] = [clientAt(service.url), clientAt(service.url)];
  await user.handle([accept('k', 1, 'v')], 0);
  const copy = `${service.directory}.copy`;
  onTestFinished(() => rm(copy, { recursive: true, force: true }));
  await service.stop();
  await cp(service.directory, copy, { recursive: true });
  await service.start();
  await finder.handle([accept('k', 2, 'acknowledged')], 0);
  await service.stop();
  await rm(service.directory, { recursive: true });
  await cp(copy, service.directory, { recursive: true });
  await service.start();
  return { service, finder, user };
}

describe('an acceptor service on an old copy of its directory', () => {
  test('refuses everybody once somebody has seen that, in every later life too', async () => {
    const { service, finder, user } = await putBack();
    await until('the one that cannot know uses it', async () =>
      expect(typesOf(await user.handle([query('k')], 0))).toEqual(['state']),
    );
    expect(await errorOf(finder.handle([query('k')], 0))).toMatchObject(BEHIND);
    // It refuses by itself: over a stream that is open, over new ones, and after a restart.
    expect(await errorOf(user.handle([promise('k', 9)], 0))).toMatchObject(BEHIND);
    expect(await errorOf(clientAt(service.url).describe())).toMatchObject(BEHIND);
    await service.stop();
    await service.start();
    const later = clientAt(service.url);
    const configuration = { cluster: 'c', number: 1, acceptors: [{ id: 'x', url: 'x' }] };
    for (const call of [
      () => later.describe(),
      () => later.handle([promise('new', 1)], 0),
      () => later.list('', 10),
      () => later.install(configuration),
      () => later.reserve('c'),
      () => service.disk.describe(),
      () => service.disk.handle([promise('new', 1)], 0),
    ])
      expect(await errorOf(call())).toMatchObject(BEHIND);
  });

  test('is told again until its disk has it', async () => {
    const { service, finder, user } = await putBack();
    failNextCommit('the disk says no');
    expect(await errorOf(finder.handle([query('k')], 0))).toMatchObject(BEHIND);
    // In this life it refuses all the same, also those who come now.
    const late = clientAt(service.url);
    for (const client of [user, late])
      expect(await errorOf(client.handle([promise('k', 9)], 0))).toMatchObject(BEHIND);
    expect([service.disk.retired, service.disk.retiredForGood]).toEqual([expect.anything(), undefined]);
    await until('it is lasting', async () => {
      expect(await errorOf(finder.handle([query('k')], 0))).toMatchObject(BEHIND);
      return service.disk.retiredForGood !== undefined;
    });
    await service.stop();
    await service.start();
    expect(await errorOf(clientAt(service.url).describe())).toMatchObject(BEHIND);
  });

  test('says so to people and their tools', async () => {
    const { service, finder } = await putBack();
    expect(await errorOf(finder.describe())).toMatchObject(BEHIND);
    const health = await fetch(`${service.url}/health`);
    expect(health.status).toBe(503);
    expect(await health.json()).toMatchObject({
      status: 'retired',
      why: expect.stringMatching(
        /^Acceptor \S+ is not used any more: it is at \d+ but had been at \d+, as from an old copy/,
      ),
    });
    expect(await (await fetch(`${service.url}/metrics`)).text()).toMatch(/^baton_acceptor_retired 1$/m);
  });
});

describe('an acceptor service whose disk lost a write, and that was started again,', () => {
  test.each([
    ['failed', 'EIO', 'STORE_FAILED'],
    ['had no room', 'ENOSPC', 'DISK_FULL'],
  ])('is used by those who saw it fail, and by everybody else: it %s', async (_, code, refusal) => {
    const service = await TestService.start();
    const [witness, other] = [clientAt(service.url), clientAt(service.url)];
    for (const client of [witness, other]) await client.handle([accept('k', 1, 'answered')], 0);
    const { sequence } = service.disk;
    await failNextWrite('the disk says no', code, 'is lost');
    // Nor is there a checkpoint that would cover it, as after kill -9.
    const save = vi.spyOn(RecordTable.prototype, 'save').mockRejectedValue(diskFull(service.directory));
    onTestFinished(() => save.mockRestore());
    const large = accept('k', 2, 'x'.repeat(40_000));
    // Its greeting, its answers and its errors tell where it is.
    expect(await errorOf(witness.handle([large], 0))).toMatchObject({ code: refusal });
    expect(await errorOf(witness.handle([query('k')], 0))).toMatchObject({ code: refusal });
    const late = clientAt(service.url);
    expect(await errorOf(late.handle([query('k')], 0))).toMatchObject({ code: refusal });
    expect(service.disk.sequence).toBe(sequence);
    await service.stop();
    save.mockRestore();
    await service.start();
    for (const [at, client] of [witness, late, other, clientAt(service.url)].entries())
      await until('it is connected again', async () =>
        expect(typesOf(await client.handle([accept('k', 3 + at, 'again')], 0))).toEqual(['2b']),
      );
    expect(service.disk.retired).toBeUndefined();
  });

  test('counts on from there: a checkpoint that covers the write is told of and found again', async () => {
    const service = await TestService.start();
    const witness = clientAt(service.url);
    await witness.handle([accept('k', 1, 'answered')], 0);
    const { sequence } = service.disk;
    await failNextWrite('no space left on device', 'ENOSPC', 'is lost');
    const large = accept('k', 2, 'x'.repeat(40_000));
    expect(await errorOf(witness.handle([large], 0))).toMatchObject({ code: 'DISK_FULL' });
    expect(typesOf(await witness.handle([large], 0))).toEqual(['2b']);
    expect(service.disk.sequence).toBe(sequence + 1);
    await service.stop();
    await service.start();
    expect(service.disk.sequence).toBe(sequence + 1);
    await until('it is connected again', async () =>
      expect(typesOf(await witness.handle([promise('k', 9)], 0))).toEqual(['1b']),
    );
  });
});

describe('who says that an acceptor is an old copy', () => {
  test('is not believed by one that has told no less of itself, or is another', async () => {
    const { disk } = await TestService.start();
    await disk.handle([promise('k', 1)], 0);
    const told = { sequence: disk.sequence, set: 0 };
    const refused = { code: 'PROTOCOL_MISMATCH' };
    expect(await errorOf(disk.retire(disk.id, told, told))).toMatchObject(refused);
    expect(await errorOf(disk.retire('another', { sequence: 99, set: 0 }, told))).toMatchObject(refused);
    expect(typesOf(await disk.handle([promise('k', 2)], 0))).toEqual(['1b']);
  });

  test('is believed though it has come further since it told where it was', async () => {
    const { disk } = await TestService.start();
    const told = { sequence: disk.sequence, set: 0 };
    for (let at = 1; at < 10; at += 1) await disk.handle([promise('k', at)], 0);
    await disk.retire(disk.id, { sequence: told.sequence + 1, set: 0 }, told);
    expect(await errorOf(disk.handle([promise('k', 20)], 0))).toMatchObject(BEHIND);
  });

  test('is believed about the set of acceptors, too', async () => {
    const { disk } = await TestService.start();
    const told = { sequence: disk.sequence, set: 2 };
    await disk.retire(disk.id, { sequence: 0, set: 3 }, told);
    expect(disk.retired?.why).toContain('it knows set 2 but had been at 3');
  });
});
