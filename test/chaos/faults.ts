/**
 * How each fault is done to a cluster and undone. `begin` resolves when it is done, with what
 * `heal` of the cluster does not undo by itself.
 */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Random } from 'baton/sim';
import { findProgram } from '../support/programs.ts';
import { type Ground, REGIONS } from './ground.ts';
import { type Fault, FAULT_KINDS, type FaultKind, isOfStore, type StoreKind } from './schedule.ts';

export interface Abilities {
  readonly kinds: readonly FaultKind[];
  readonly canCut: boolean;
  /** What cannot be done here, and how to get it. */
  readonly notRun: readonly string[];
  readonly faketime: string | undefined;
  /** Stores that are acceptors of the cluster, beside services. */
  readonly stores: readonly StoreKind[];
}

/** A minority of five. */
const ACCEPTORS_AWAY = 2;

/** The library that comes with the program; `BATON_FAKETIME` names another one. */
export function findFaketime(): string | undefined {
  const given = process.env['BATON_FAKETIME'];
  if (given !== undefined) return existsSync(given) ? given : undefined;
  const { path } = findProgram('faketime');
  if (path === undefined) return undefined;
  const libraries = join(dirname(path), '..', 'lib');
  const places = [libraries, ...readdirSync(libraries).map((name) => join(libraries, name))];
  return places.map((place) => join(place, 'faketime', 'libfaketime.so.1')).find((file) => existsSync(file));
}

/** With stores there are no cuts: their servers are on loopback, which the networks of regions do not reach. */
export function abilitiesOf(
  canMakeNetworks: boolean,
  faketime: string | undefined,
  stores: readonly StoreKind[] = [],
): Abilities {
  const hasStores = stores.length > 0;
  const canCut = canMakeNetworks && !hasStores;
  const isPossible = (kind: FaultKind): boolean => {
    if (isOfStore(kind)) return hasStores;
    return kind === 'clock' ? faketime !== undefined : canCut || !kind.startsWith('cut');
  };
  const whyNoCuts = hasStores
    ? 'the servers of stores are on loopback, which the network namespaces of regions do not reach'
    : 'network namespaces need Linux, root, iproute2 and util-linux';
  const notRun = [
    ...(canCut ? [] : [`cuts: ${whyNoCuts}`]),
    ...(faketime === undefined
      ? ['clock: libfaketime is not installed (Debian: apt-get install faketime)']
      : []),
  ];
  return { kinds: FAULT_KINDS.filter(isPossible), canCut, notRun, faketime, stores };
}

/** For people. */
export function acceptorsIn({ stores }: Pick<Abilities, 'stores'>): string {
  return stores.length === 0 ? 'five acceptors' : `five acceptors (${stores.join(', ')} and services)`;
}

/** Nodes speak to every acceptor once in an interval, and wait a second for an answer; the rest is for a busy machine. */
const NOTICED_MS = 60_000;

const NOTHING_MORE = async (): Promise<void> => {};

export class Faults {
  readonly #ground: Ground;
  readonly #random: Random;
  readonly #faketime: string | undefined;

  constructor(ground: Ground, random: Random, faketime: string | undefined) {
    this.#ground = ground;
    this.#random = random;
    this.#faketime = faketime;
  }

  async targetOf({ kind, part, loss }: Fault): Promise<readonly string[]> {
    if (isOfStore(kind)) return [loss!.store];
    if (kind === 'acceptors') return this.#services(loss === undefined ? ACCEPTORS_AWAY : ACCEPTORS_AWAY - 1);
    const writer = await this.#ground.writer();
    const readers = REGIONS.filter((region) => region !== writer);
    const reader = readers[this.#random.integer(readers.length)]!;
    return [kind === 'switchover' || part === 'writer' ? writer : reader];
  }

  async begin(fault: Fault, targets: readonly string[]): Promise<() => Promise<void>> {
    const { cluster } = this.#ground;
    const target = targets[0]!;
    switch (fault.kind) {
      case 'kill store':
      case 'pause store':
        return NOTHING_MORE;
      case 'kill':
        await cluster.kill(target);
        return NOTHING_MORE;
      case 'pause':
        await cluster.pause(target);
        return NOTHING_MORE;
      case 'stop':
        await cluster.stopOne(target);
        return NOTHING_MORE;
      case 'acceptors':
        await Promise.all(targets.map((name) => cluster.kill(name)));
        return NOTHING_MORE;
      case 'switchover':
        return this.#switchover(target);
      case 'clock':
        return this.#shiftClock(target, fault.offsetSeconds);
      case 'cut':
        await cluster.cut(target);
        return NOTHING_MORE;
      case 'cut in':
        await cluster.cut(target, { direction: 'in' });
        return NOTHING_MORE;
      case 'cut out':
        await cluster.cut(target, { direction: 'out' });
        return NOTHING_MORE;
      case 'cut from acceptors':
        await cluster.cut(target, { from: 'acceptors' });
        return NOTHING_MORE;
      case 'cut from regions':
        await cluster.cut(target, { from: 'regions' });
        return NOTHING_MORE;
      // Its clients still reach it: what it takes from them until its lease is over is lost below Strong.
      case 'cut from both':
        await cluster.cut(target, { from: 'regions' });
        await cluster.cut(target, { from: 'acceptors' });
        return NOTHING_MORE;
    }
  }

  /**
   * The store goes first, and the fault begins when every node has noticed. Resolves with whether they have: a store that
   * nobody misses was not away.
   */
  async takeStore({ loss }: Fault): Promise<boolean> {
    if (loss === undefined) return false;
    await this.#ground.stores!.takeAway(loss);
    return this.#ground.misses(loss.store, NOTICED_MS);
  }

  /** Everything is as it was, except who writes. */
  async heal(undo: () => Promise<void>): Promise<void> {
    await undo();
    await this.#ground.heal();
  }

  #services(count: number): readonly string[] {
    const names = this.#ground.services;
    return Array.from({ length: count }, () => names.splice(this.#random.integer(names.length), 1)[0]!);
  }

  /** Away from there; and back. */
  async #switchover(from: string): Promise<() => Promise<void>> {
    const others = REGIONS.filter((region) => region !== from);
    const target = others[this.#random.integer(others.length)]!;
    await this.#wishAll(target);
    return () => this.#wishAll(from);
  }

  async #wishAll(target: string): Promise<void> {
    const { partitionSets } = this.#ground;
    await Promise.all(partitionSets.map((name) => this.#ground.wish(name, { kind: 'switchover', target })));
  }

  /** A planned stop, and a start with another wall clock; timers go by the monotonic one, which stays true. */
  async #shiftClock(region: string, seconds: number): Promise<() => Promise<void>> {
    const { cluster } = this.#ground;
    await cluster.stopOne(region);
    const offset = `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}s`;
    const added = { LD_PRELOAD: this.#faketime!, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
    const before = Object.keys(added).map((name): [string, string | undefined] => [name, process.env[name]]);
    Object.assign(process.env, added);
    try {
      await cluster.startAgain(region);
    } finally {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
    return async () => void (await cluster.stopOne(region));
  }
}
