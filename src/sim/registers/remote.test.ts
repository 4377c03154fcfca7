import { describe, expect, test } from 'vitest';
import { BALLOT_ZERO } from '../../protocol/index.ts';
import { Random } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import { World } from '../world.ts';
import { AcceptorService, RemoteAcceptor } from './remote.ts';
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
  const server = new StoreServer({ url: 'sim:one', concurrency: 1, syncMs: () => 1, onDurable: () => {} });
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
  const route = { world, from: client!, to: process!, timeoutMs: 100 };
  return { world, server, process: process!, open: () => new RemoteAcceptor(route, 'sim:one', service) };
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

const ask = (acceptor: RemoteAcceptor, counter: number) =>
  acceptor.handle(
    [{ key: 'k', set: 0, message: { type: '1a', ballot: { counter, proposer: 'p', incarnation: 1 } } }],
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
});
