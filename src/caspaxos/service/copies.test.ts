/** Two live copies of one acceptor (docs/design.md: life): one of them counts, the other is refused, whoever uses it. */
import { cp } from 'node:fs/promises';
import { createServer, connect, type Server } from 'node:net';
import type { Acceptor, Cluster, ClusterOptions, Configuration } from 'baton/caspaxos';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorOf, openFor } from '../../../test/caspaxos/clusters.ts';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { TestService } from '../../../test/caspaxos/services.ts';
import { until } from '../../../test/support/until.ts';
import { ServiceAcceptor } from './client.ts';

const WITH_LIVES = { lives: true };

/** One address that leads to one service or another, as a name does that was moved. */
class Address {
  readonly #server: Server;
  #port = 0;

  private constructor() {
    this.#server = createServer((socket) => {
      const target = connect(this.#port, '127.0.0.1');
      socket.pipe(target).pipe(socket);
      socket.on('error', () => target.destroy()).on('close', () => target.destroy());
      target.on('error', () => socket.destroy()).on('close', () => socket.destroy());
      onTestFinished(() => {
        socket.destroy();
      });
    });
  }

  static async of(service: TestService): Promise<Address> {
    const address = new Address();
    address.leadTo(service);
    await new Promise<void>((resolve) => address.#server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      address.#server.close();
    });
    return address;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  /** For connections from now on. */
  leadTo({ port }: TestService): void {
    this.#port = port;
  }
}

/** What is asked is lost where it is cut. */
class Reached extends ServiceAcceptor {
  readonly #isCut: (what: string) => boolean;

  readonly #onUnrecorded: () => void;

  constructor(url: string, isCut: (what: string) => boolean, onUnrecorded: () => void) {
    super(new URL(url), { timeoutMs: 5000 });
    this.#isCut = isCut;
    this.#onUnrecorded = onUnrecorded;
  }

  override async describe(): ReturnType<Acceptor['describe']> {
    this.#reach();
    return super.describe();
  }

  override async install(configuration: Configuration): Promise<void> {
    this.#reach();
    await super.install(configuration);
  }

  override async handle(...asked: Parameters<Acceptor['handle']>): ReturnType<Acceptor['handle']> {
    this.#reach('registers');
    return super.handle(...asked);
  }

  override async handleUnrecorded(...asked: Parameters<Acceptor['handle']>): ReturnType<Acceptor['handle']> {
    this.#reach('registers');
    this.#onUnrecorded();
    return super.handleUnrecorded(...asked);
  }

  #reach(what = ''): void {
    if (this.#isCut(what)) throw new Error('cut');
  }
}

/** Acceptors a, b and c; a stands behind an address of its own. */
class Scene {
  readonly a: TestService;
  readonly b: TestService;
  readonly c: TestService;
  readonly address: Address;
  /** Whom each process does not reach, as "P b" or "registers of P b". */
  readonly cut = new Set<string>();
  /** How often those in a life that is not recorded were asked to vote. */
  votes = 0;

  private constructor([a, b, c]: readonly TestService[], address: Address) {
    this.a = a!;
    this.b = b!;
    this.c = c!;
    this.address = address;
  }

  static async begin(): Promise<Scene> {
    const services = await TestService.startThree(WITH_LIVES);
    const scene = new Scene(services, await Address.of(services[0]!));
    const first = await scene.open('first');
    expect(await first.change('k', () => ['first'])).toMatchObject({ outcome: 'committed' });
    await first.close();
    return scene;
  }

  get urls(): readonly string[] {
    return [this.address.url, this.b.url, this.c.url];
  }

  async open(name: string, options: Partial<ClusterOptions> = {}): Promise<Cluster> {
    const names = new Map(this.urls.map((url, at) => [url, 'abc'[at]]));
    return openFor({
      acceptors: this.urls,
      timeoutMs: 20_000,
      ...options,
      openAcceptor: (url) =>
        new Reached(
          url,
          (what) => [name, `${what} of ${name}`].some((asked) => this.cut.has(`${asked} ${names.get(url)}`)),
          () => {
            this.votes += 1;
          },
        ),
    });
  }

  /** A second service on a copy of that directory. */
  async copyOf({ directory }: TestService): Promise<string> {
    const copy = temporaryDirectory();
    await cp(directory, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    return copy;
  }
}

const add = (name: string) => (value: readonly string[] | undefined) => [...(value ?? []), name];

function lifeOf(cluster: Cluster): string | undefined {
  return cluster.configuration.acceptors[0]!.life?.id;
}

describe('two copies of an acceptor', () => {
  test('that were made while it was down do not both count', async () => {
    const scene = await Scene.begin();
    await scene.a.stop();
    const directory = await scene.copyOf(scene.a);
    await scene.a.start();
    const copy = await TestService.start(WITH_LIVES, directory);
    scene.address.leadTo(scene.a);
    const p = await scene.open('P', { requestTimeoutMs: 20_000 });
    // Before it began to work.
    expect(lifeOf(p)).toBe(scene.a.disk.life!.id);
    scene.address.leadTo(copy);
    const q = await scene.open('Q');
    await until('the copy is refused', () => copy.disk.retired?.code === 'ACCEPTOR_SUPERSEDED');
    scene.cut.add('P c').add('Q b');
    expect(await p.change('k', add('P'))).toMatchObject({ outcome: 'committed', version: 2 });
    const stuck = await q.change('k', add('Q'), { timeoutMs: 300 });
    expect(stuck).toMatchObject({ outcome: 'rejected', error: { code: 'DEADLINE_EXCEEDED' } });
    scene.cut.clear();
    expect(await q.change('k', add('Q'))).toMatchObject({ outcome: 'committed', version: 3 });
    expect((await p.read('k')).value).toEqual(['first', 'P', 'Q']);
    expect(q.acceptors[0]).toMatchObject({ state: 'down', error: { code: 'ACCEPTOR_SUPERSEDED' } });
    // It refuses whoever knows nothing of all this, and in its next life.
    await copy.stop();
    await copy.start();
    const stranger = new ServiceAcceptor(new URL(copy.url), { timeoutMs: 5000 });
    onTestFinished(() => stranger.close());
    expect(await errorOf(stranger.describe())).toMatchObject({ code: 'ACCEPTOR_SUPERSEDED' });
    expect(scene.a.disk.retired).toBeUndefined();
  });

  test('whichever is used first counts, if it was made while the original ran: then the original is refused', async () => {
    const scene = await Scene.begin();
    const p = await scene.open('P');
    const copy = await TestService.start(WITH_LIVES, await scene.copyOf(scene.a));
    scene.address.leadTo(copy);
    const q = await scene.open('Q');
    await until('the copy is in use', () => lifeOf(q) === copy.disk.life!.id);
    // Who still speaks to the original is told by the others that the configuration has moved on.
    scene.cut.add('P c').add('Q b');
    expect(await q.change('k', add('Q'))).toMatchObject({ outcome: 'committed', version: 2 });
    const stuck = await p.change('k', add('P'), { timeoutMs: 300 });
    expect(stuck).toMatchObject({ outcome: 'rejected', error: { code: 'DEADLINE_EXCEEDED' } });
    await until('the original is refused', () => scene.a.disk.retired?.code === 'ACCEPTOR_SUPERSEDED');
    scene.cut.clear();
    expect(await p.change('k', add('P'))).toMatchObject({ outcome: 'committed', version: 3 });
    expect((await q.read('k')).value).toEqual(['first', 'Q', 'P']);
  });

  test('a copy that lacks what the original answered since is found out by whoever saw that, and retired', async () => {
    const scene = await Scene.begin();
    const p = await scene.open('P');
    const directory = await scene.copyOf(scene.a);
    const { sequence } = scene.a.disk;
    await until('the original is further', async () => {
      await p.change('other', add('P'));
      return scene.a.disk.sequence > sequence + 1;
    });
    const copy = await TestService.start(WITH_LIVES, directory);
    scene.address.leadTo(copy);
    const q = await scene.open('Q');
    await until('it is found out', async () => {
      await q.change('k', add('Q'));
      await p.change('k', add('P'));
      return q.configuration.acceptors[0]!.retired?.code === 'ACCEPTOR_BEHIND';
    });
  });

  test('one that is put back from an earlier life is refused', async () => {
    const scene = await Scene.begin();
    await scene.a.stop();
    const copy = await scene.copyOf(scene.a);
    await scene.a.start();
    const p = await scene.open('P');
    await until('the original is in use', () => lifeOf(p) === scene.a.disk.life!.id);
    await scene.a.stop();
    const older = await TestService.start(WITH_LIVES, copy);
    scene.address.leadTo(older);
    // Nobody who was there is left.
    await p.close();
    const q = await scene.open('Q');
    await until('it is refused', () => older.disk.retired?.code === 'ACCEPTOR_SUPERSEDED');
    expect(await q.change('k', add('Q'))).toMatchObject({ outcome: 'committed', version: 2 });
    const empty = await TestService.start(WITH_LIVES);
    await q.replaceAcceptor(scene.address.url, empty.url);
    expect(q.configuration.acceptors[0]).toMatchObject({ url: empty.url, life: { id: empty.disk.life!.id } });
  });
});

describe('two copies on two sides of a partition', () => {
  test('may both count, and neither does when the sides have met', async () => {
    const scene = await Scene.begin();
    await scene.a.stop();
    const directory = await scene.copyOf(scene.a);
    await scene.a.start();
    const copy = await TestService.start(WITH_LIVES, directory);
    scene.cut.add('P c').add('Q b');
    scene.address.leadTo(scene.a);
    const p = await scene.open('P');
    expect(await p.change('k', add('P'))).toMatchObject({ outcome: 'committed', version: 2 });
    scene.address.leadTo(copy);
    const q = await scene.open('Q');
    expect(await q.change('k', add('Q'))).toMatchObject({ outcome: 'committed', version: 2 });
    const warned: string[] = [];
    for (const cluster of [p, q]) cluster.on('warning', ({ code }) => warned.push(code));
    scene.cut.clear();
    await until('it is noticed', async () => {
      await p.change('k', add('P'), { timeoutMs: 300 });
      return p.configuration.acceptors[0]!.retired?.code === 'ACCEPTOR_COPIED';
    });
    expect(warned).toContain('ACCEPTOR_COPIED');
    await until('the other side knows', async () => {
      await q.change('k', add('Q'), { timeoutMs: 300 });
      return q.acceptors[0]!.error?.code === 'ACCEPTOR_COPIED';
    });
  });
});

describe('an acceptor that is started again', () => {
  test('is used again, however often it was started before anybody spoke to it', async () => {
    const scene = await Scene.begin();
    const p = await scene.open('P');
    for (let at = 0; at < 3; at += 1) {
      await scene.a.stop();
      await scene.a.start();
    }
    scene.address.leadTo(scene.a);
    await until('it is used', async () => {
      await p.change('k', add('P'));
      return lifeOf(p) === scene.a.disk.life!.id && p.acceptors[0]!.state === 'up';
    });
    // The others were enough to decide it.
    expect(scene.votes).toBe(0);
    await until('it knows that it is recorded', () => scene.a.disk.life!.after.length === 0);
  });

  test('while another is gone', async () => {
    const scene = await Scene.begin();
    const p = await scene.open('P');
    await scene.c.stop();
    for (const service of [scene.a, scene.b, scene.a]) {
      await service.stop();
      await service.start();
      scene.address.leadTo(scene.a);
      expect(await p.change('k', add('P'))).toMatchObject({ outcome: 'committed' });
    }
    expect(scene.votes).toBeGreaterThan(0);
    await scene.c.start();
    await scene.a.stop();
    expect(await p.change('k', add('P'))).toMatchObject({ outcome: 'committed' });
    expect((await p.read<readonly string[]>('k')).value).toHaveLength(5);
  });

  test('while another answers, and takes nothing', async () => {
    const scene = await Scene.begin();
    const p = await scene.open('P');
    scene.cut.add('registers of P b');
    await scene.a.stop();
    await scene.a.start();
    scene.address.leadTo(scene.a);
    expect(await p.change('k', add('P'))).toMatchObject({ outcome: 'committed', version: 2 });
  });

  test('together with all others', async () => {
    const scene = await Scene.begin();
    const p = await scene.open('P');
    const all = [scene.a, scene.b, scene.c];
    await Promise.all(all.map((service) => service.stop()));
    await Promise.all(all.map((service) => service.start()));
    scene.address.leadTo(scene.a);
    expect(await p.change('k', add('P'))).toMatchObject({ outcome: 'committed', version: 2 });
    await p.close();
    await Promise.all(all.map((service) => service.stop()));
    await Promise.all(all.map((service) => service.start()));
    scene.address.leadTo(scene.a);
    const q = await scene.open('Q');
    expect(await q.change('k', add('Q'))).toMatchObject({ outcome: 'committed', version: 3 });
    expect(all.every((service) => service.disk.retired === undefined)).toBe(true);
  });

  test('between changes of the set', async () => {
    const scene = await Scene.begin();
    const p = await scene.open('P');
    const next = await TestService.startThree(WITH_LIVES);
    await p.changeAcceptors([scene.address.url, ...next.map(({ url }) => url)].slice(0, 3));
    for (const service of [scene.a, ...next.slice(0, 2)]) {
      await service.stop();
      await service.start();
    }
    scene.address.leadTo(scene.a);
    expect(await p.change('k', add('P'))).toMatchObject({ outcome: 'committed', version: 2 });
    const replacement = await TestService.start(WITH_LIVES);
    await p.replaceAcceptor(scene.address.url, replacement.url);
    expect((await p.read('k')).value).toEqual(['first', 'P']);
  });

  test('is recorded in a configuration of an earlier version, which names no lives', async () => {
    const services = await TestService.startThree(WITH_LIVES);
    const acceptors = services.map(({ url }) => url);
    class Earlier extends ServiceAcceptor {
      override get life(): undefined {
        return undefined;
      }

      override async describe(): ReturnType<Acceptor['describe']> {
        return { ...(await super.describe()), life: undefined };
      }
    }
    const earlier = await openFor({
      acceptors,
      openAcceptor: (url) => new Earlier(new URL(url), { timeoutMs: 5000 }),
    });
    await earlier.change('k', add('earlier'));
    expect(earlier.configuration.acceptors.map(({ life }) => life)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const cluster = await openFor({ acceptors });
    await until('the lives are recorded', async () => {
      await cluster.change('k', (value) => value);
      const lives = cluster.configuration.acceptors.map(({ life }) => life?.id);
      return services.every(({ disk }, at) => lives[at] === disk.life!.id);
    });
    // Processes of the earlier version go on with it.
    expect(await earlier.change('k', add('again'))).toMatchObject({ outcome: 'committed', version: 2 });
  });
});
