import { describe, expect, test } from 'vitest';
import { BALLOT_ZERO } from '../../protocol/index.ts';
import { Random } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import { World } from '../world.ts';
import { AcceptorService, RemoteAcceptor } from './service.ts';
import { StoreServer } from './store-server.ts';

interface Scene {
  readonly world: World;
  readonly server: StoreServer;
  readonly process: SimProcess;
  readonly open: () => RemoteAcceptor;
}

function scene(): Scene {
  const world = new World(1);
  world.link = () => [1];
  const server = new StoreServer({
    url: 'sim:one',
    concurrency: 1,
    syncMs: () => 1,
    onDurable: () => {},
    now: () => world.now,
  });
  const service = new AcceptorService(server);
  const main = (process: SimProcess): void => {
    server.start(process);
    service.start(process);
  };
  const [process, client] = [main, () => {}].map((run, at) =>
    world.addProcess({ name: `p${at}`, main: run }),
  );
  process!.start();
  client!.start();
  const to = () => ({ process: process!, server, service });
  const route = { world, from: client!, to, timeoutMs: 100 };
  return { world, server, process: process!, open: () => new RemoteAcceptor(route) };
}

/** What came of it: the result, or the error's code or message. */
async function outcomeOf<R>(world: World, work: Promise<R>): Promise<R | string> {
  let outcome: { readonly value: R | string } | undefined;
  work.then(
    (value) => (outcome = { value }),
    (error: Error & { code?: string }) => (outcome = { value: error.code ?? error.message }),
  );
  await world.run(world.now + 1000, () => outcome !== undefined);
  return outcome!.value;
}

const ask = (acceptor: RemoteAcceptor, counter: number, set = 0) =>
  acceptor.handle(
    [{ key: 'k', set, message: { type: '1a', ballot: { counter, proposer: 'p', incarnation: 1 } } }],
    0,
  );

/** The power goes, and something is done to the disk before it comes back. */
function restart({ process, server }: Scene, meanwhile: () => void = () => {}): void {
  process.crash();
  server.crash(new Random(1));
  meanwhile();
  process.start();
}

describe('a remote acceptor', () => {
  test('answers as the role does', async () => {
    const { world, open } = scene();
    expect(await outcomeOf(world, ask(open(), 1))).toMatchObject([{ type: '1b', accepted: BALLOT_ZERO }]);
  });

  test('that was restarted breaks the stream, and is found again by the next call', async () => {
    const stage = scene();
    const acceptor = stage.open();
    await outcomeOf(stage.world, ask(acceptor, 1));
    restart(stage);
    expect(await outcomeOf(stage.world, ask(acceptor, 2))).toBe('the stream is broken');
    expect(await outcomeOf(stage.world, ask(acceptor, 3))).toMatchObject([{ type: '1b' }]);
  });

  test('that came back empty or from an old copy is not used any more', async () => {
    for (const code of ['ACCEPTOR_FOREIGN', 'ACCEPTOR_BEHIND']) {
      const stage = scene();
      const acceptor = stage.open();
      await outcomeOf(stage.world, ask(acceptor, 1));
      const copy = stage.server.copy();
      await outcomeOf(stage.world, ask(acceptor, 2));
      restart(stage, () => stage.server.replaceDisk(code === 'ACCEPTOR_BEHIND' ? copy : undefined));
      await outcomeOf(stage.world, ask(acceptor, 3));
      expect(await outcomeOf(stage.world, ask(acceptor, 4))).toBe(code);
      expect(await outcomeOf(stage.world, ask(acceptor, 5))).toBe(code);
    }
  });

  test('that is found to be an old copy refuses those too who cannot know, in every later life', async () => {
    const stage = scene();
    const [finder, user] = [stage.open(), stage.open()];
    await outcomeOf(stage.world, ask(user, 1));
    const copy = stage.server.copy();
    await outcomeOf(stage.world, ask(finder, 2));
    restart(stage, () => stage.server.replaceDisk(copy));
    await outcomeOf(stage.world, ask(user, 3));
    expect(typeof (await outcomeOf(stage.world, user.describe()))).toBe('object');
    await outcomeOf(stage.world, ask(finder, 5));
    expect(await outcomeOf(stage.world, ask(finder, 6))).toBe('ACCEPTOR_BEHIND');
    expect(await outcomeOf(stage.world, ask(user, 7))).toBe('ACCEPTOR_BEHIND');
    restart(stage);
    await outcomeOf(stage.world, ask(user, 8));
    for (const acceptor of [user, stage.open()])
      expect(await outcomeOf(stage.world, acceptor.describe())).toBe('ACCEPTOR_BEHIND');
  });

  test('is told again that it is retired when the answer was lost', async () => {
    const stage = scene();
    const finder = stage.open();
    await outcomeOf(stage.world, ask(finder, 1));
    const copy = stage.server.copy();
    await outcomeOf(stage.world, ask(finder, 2));
    restart(stage, () => stage.server.replaceDisk(copy));
    await outcomeOf(stage.world, ask(finder, 3));
    // The question and the greeting pass, and nothing that comes after.
    let messages = 0;
    stage.world.link = () => ((messages += 1) <= 2 ? [1] : []);
    expect(await outcomeOf(stage.world, ask(finder, 4))).toBe('ACCEPTOR_BEHIND');
    stage.world.link = () => [1];
    expect(typeof (await outcomeOf(stage.world, stage.open().describe()))).toBe('object');
    stage.world.at(stage.world.now + 2000, -1, () => {});
    await stage.world.run(Infinity);
    expect(await outcomeOf(stage.world, ask(finder, 5))).toBe('ACCEPTOR_BEHIND');
    await stage.world.run(Infinity);
    expect(await outcomeOf(stage.world, stage.open().describe())).toBe('ACCEPTOR_BEHIND');
  });

  test('answers only to the cluster that it belongs to, and is reserved for one at a time', async () => {
    const { world, open } = scene();
    const own = open();
    const { id } = (await outcomeOf(world, own.describe())) as { id: string };
    const configuration = { cluster: 'own', number: 1, acceptors: [{ id, url: 'sim:one' }] };
    const other = open();
    other.expect(id, 'other');
    own.expect(id, 'own');
    expect(await outcomeOf(world, ask(own, 1))).toBe('ACCEPTOR_UNCLAIMED');
    await outcomeOf(world, own.reserve('own'));
    expect(await outcomeOf(world, other.install({ ...configuration, cluster: 'other' }))).toBe(
      'CONFIGURATION_CONFLICT',
    );
    await outcomeOf(world, own.install(configuration));
    expect(await outcomeOf(world, ask(own, 2, 1))).toMatchObject([{ type: '1b' }]);
    expect(await outcomeOf(world, ask(other, 3, 1))).toBe('CONFIGURATION_CONFLICT');
    expect(await outcomeOf(world, other.list('', 10))).toBe('CONFIGURATION_CONFLICT');
    expect(await outcomeOf(world, other.reserve('other'))).toBe('CONFIGURATION_CONFLICT');
  });
});
