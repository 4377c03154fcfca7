/**
 * A network of its own for every region and every acceptor, so that links between them can be cut as a network cuts them:
 * packets vanish, in one direction or in both. Each place has a network namespace with one address; a namespace in the
 * middle, the hub, routes between them and to this machine. A cut is a rule of the hub that drops what goes from one
 * address to another, without a word to the sender.
 *
 *   west ────┐             ┌──── a1
 *   east ────┤ hub (rules) ├──── a2
 *   north ───┘      │      └──── ...
 *              this machine
 *
 * No namespace has a name in the system. Each lives as long as a process in it, the holder, which ends when this process
 * does: a cluster that was killed leaves nothing behind. Linux and root are needed, and `ip`, `unshare` and `nsenter`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalClusterError } from './errors.ts';
import type { Guard } from './guarded.ts';
import { startOf } from './identity.ts';

const FIRST_NETWORK = 87;
const NETWORKS = 40;
/** This machine's place on the hub. */
const MACHINE = 250;
const HOLDER_MS = 5000;

export interface Link {
  /** A place, or everybody. */
  readonly from: string;
  readonly to: string;
}

interface Place {
  readonly name: string;
  readonly address: string;
  readonly holder: ChildProcess;
}

export class Namespaces {
  /** Of this machine, as the places reach it. */
  readonly machine: string;
  readonly #hub: ChildProcess;
  readonly #places: ReadonlyMap<string, Place>;
  readonly #holders: readonly ChildProcess[];
  readonly #cuts = new Map<string, Link>();

  private constructor(hub: ChildProcess, machine: string, places: readonly Place[]) {
    this.machine = machine;
    this.#hub = hub;
    this.#places = new Map(places.map((place) => [place.name, place]));
    this.#holders = [hub, ...places.map(({ holder }) => holder)];
  }

  static async make(names: readonly string[], guard: Guard): Promise<Namespaces> {
    if (process.platform !== 'linux' || process.getuid?.() !== 0)
      throw unavailable('--netns needs Linux and root');
    const holders: ChildProcess[] = [];
    try {
      const hub = await makeHolder(guard);
      holders.push(hub);
      const network = await claimNetwork(hub);
      const machine = `10.${network}.${MACHINE}.2`;
      await inside(hub, [
        'link set lo up',
        `addr add 10.${network}.${MACHINE}.1/30 dev machine`,
        'link set machine up',
      ]);
      await ip([
        `addr add ${machine}/30 dev bt${network}`,
        `link set bt${network} up`,
        `route add 10.${network}.0.0/16 via 10.${network}.${MACHINE}.1`,
      ]);
      const places: Place[] = [];
      for (const [index, name] of names.entries()) {
        const place = { name, address: `10.${network}.${index + 1}.2`, holder: await makeHolder(guard) };
        holders.push(place.holder);
        await attach(hub, place, `10.${network}.${index + 1}.1`, index + 1);
        places.push(place);
      }
      await becomeRouter(hub);
      return new Namespaces(hub, machine, places);
    } catch (error) {
      for (const child of holders) child.kill('SIGKILL');
      throw error;
    }
  }

  addressOf(place: string): string {
    return this.#places.get(place)!.address;
  }

  /** How a program is started there. */
  enter(place: string): readonly string[] {
    return entering(this.#places.get(place)!.holder);
  }

  async cut(links: readonly Link[]): Promise<void> {
    const added = links.filter((link) => !this.#cuts.has(keyOf(link)));
    await inside(
      this.#hub,
      added.map((link) => `rule add ${this.#rule(link)}`),
    );
    for (const link of added) this.#cuts.set(keyOf(link), link);
  }

  /** All links of this place, or all there are. */
  async heal(place?: string): Promise<void> {
    const cuts = [...this.#cuts.values()].filter(
      ({ from, to }) => place === undefined || from === place || to === place,
    );
    await inside(
      this.#hub,
      cuts.map((link) => `rule del ${this.#rule(link)}`),
    );
    for (const link of cuts) this.#cuts.delete(keyOf(link));
  }

  /** The links end with their namespaces. */
  close(): void {
    for (const child of this.#holders) child.kill('SIGKILL');
  }

  #rule({ from, to }: Link): string {
    const side = (name: string): string => (name === EVERYBODY ? 'all' : this.addressOf(name));
    return `from ${side(from)} to ${side(to)} blackhole pref 100`;
  }
}

export const EVERYBODY = '*';

function keyOf({ from, to }: Link): string {
  return `${from} ${to}`;
}

async function attach(hub: ChildProcess, place: Place, gateway: string, number: number): Promise<void> {
  await inside(hub, [
    `link add p${number} type veth peer name eth0 netns ${place.holder.pid}`,
    `addr add ${gateway}/30 dev p${number}`,
    `link set p${number} up`,
  ]);
  await inside(place.holder, [
    'link set lo up',
    `addr add ${place.address}/30 dev eth0`,
    'link set eth0 up',
    `route add default via ${gateway}`,
  ]);
}

/** A router that asked for the way back would take a cut of one direction for a cut of both. */
async function becomeRouter(hub: ChildProcess): Promise<void> {
  const script =
    'echo 1 > /proc/sys/net/ipv4/ip_forward; for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > "$f"; done';
  await run([...entering(hub), 'sh', '-c', script]);
}

function entering(child: ChildProcess): readonly string[] {
  return ['nsenter', '-t', String(child.pid), '-n', '--'];
}

async function makeHolder(guard: Guard): Promise<ChildProcess> {
  const child = spawn('unshare', ['-n', '--', 'cat'], { stdio: ['pipe', 'ignore', 'pipe'], detached: true });
  let complaint = '';
  child.stderr.on('data', (bytes: Buffer) => (complaint += bytes.toString()));
  child.stdin.on('error', () => {});
  let isOver = false;
  child.once('error', (error) => {
    complaint = error.message;
    isOver = true;
  });
  child.once('exit', () => (isOver = true));
  const { pid } = child;
  const deadline = performance.now() + HOLDER_MS;
  while (!isOver && performance.now() < deadline) {
    if (pid !== undefined && namespaceOf(pid) !== namespaceOf(process.pid)) {
      guard.own(pid, startOf(pid) ?? '');
      child.once('exit', () => guard.gone(pid));
      return child;
    }
    await sleep(5);
  }
  child.kill('SIGKILL');
  throw unavailable(complaint.trim() || 'unshare did not make one');
}

function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return namespaceOf(process.pid);
  }
}

/** The first of ours that this machine has no route to. The link is the claim: of two that want one network, one can make it. */
async function claimNetwork(hub: ChildProcess): Promise<number> {
  let problem: unknown = unavailable('no network from 10.87.0.0/16 on is free');
  for (let network = FIRST_NETWORK; network < FIRST_NETWORK + NETWORKS; network += 1) {
    const routes = await run(['ip', '-4', 'route', 'show', 'table', 'all']);
    if (new RegExp(`(?:^| )10\\.${network}\\.`, 'm').test(routes)) continue;
    try {
      await inside(hub, [`link add machine type veth peer name bt${network} netns ${process.pid}`]);
      return network;
    } catch (error) {
      problem = error;
    }
  }
  throw problem;
}

function inside(child: ChildProcess, lines: readonly string[]): Promise<string> {
  return ip(lines, entering(child));
}

async function ip(lines: readonly string[], prefix: readonly string[] = []): Promise<string> {
  return lines.length === 0 ? '' : run([...prefix, 'ip', '-batch', '-'], `${lines.join('\n')}\n`);
}

function run([program, ...args]: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program!, args, { timeout: 10_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(unavailable(stderr.trim().replaceAll('\n', ' ') || error.message));
    });
    child.stdin!.on('error', () => {});
    child.stdin!.end(input);
  });
}

function unavailable(why: string): LocalClusterError {
  return new LocalClusterError(
    'NAMESPACES_UNAVAILABLE',
    `This machine cannot create network namespaces: ${why}.`,
  );
}
