/**
 * Random walks at Strong: messages in any order, lost and doubled; crashes that keep any part of what was not synced; disks
 * that stand still, and that come back empty or as they were some time ago, one at a time; failovers one after the other, each as the machine would do it (rules 7, 9 and 11). Whatever happens:
 *
 *   an acknowledged write is in the log of every later writer, and in every log in the end;
 *   what a copy knew to be committed is never undone, and no writer ever asks for that;
 *   a strong read shows the newest write that was acknowledged or read before it, or a newer one;
 *   in the end everybody has the same log.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Asked, PartitionScene, upsert, valueOf } from '../../../../test/engine/partition-scene.ts';
import type { Operation } from '../documents/request.ts';
import { comparePositions, type Position } from '../model.ts';
import type { ReadAnswer, WriteAnswer } from './answers.ts';
import { contains } from './progress-table.ts';
import { trimTo } from './trim.ts';

interface Step {
  readonly what:
    | 'write'
    | 'read'
    | 'deliver'
    | 'double'
    | 'lose'
    | 'hold'
    | 'release'
    | 'crash'
    | 'disk'
    | 'cut'
    | 'mend'
    | 'elect'
    | 'time'
    | 'calm'
    | 'trim'
    | 'others';
  readonly region: number;
  readonly choice: number;
}

const weights: Readonly<Record<Step['what'], number>> = {
  write: 12,
  read: 10,
  deliver: 40,
  double: 2,
  lose: 3,
  hold: 2,
  release: 3,
  crash: 2,
  disk: 2,
  cut: 2,
  mend: 2,
  elect: 2,
  time: 6,
  calm: 6,
  trim: 5,
  others: 6,
};

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.oneof(
    ...Object.entries(weights).map(([what, weight]) => ({
      weight,
      arbitrary: fc.constant(what as Step['what']),
    })),
  ),
  region: fc.nat({ max: 2 }),
  choice: fc.nat({ max: 1000 }),
});

const GRANT_MS = 150;
/** What is written to x at the very end. */
const LAST = 1_000_000;

/** A batch on two of the other documents, which makes, changes or deletes them. */
function othersOf(choice: number): Operation[] {
  const one = `other${choice % 3}`;
  const two = `other${3 + (choice % 2)}`;
  const first: Operation = choice % 5 < 2 ? { op: 'delete', id: one } : upsert(one, choice);
  return choice % 7 < 3 ? [first] : [first, upsert(two, choice)];
}

class Walk {
  readonly scene = new PartitionScene({ forwarder: { windowBytes: 2000, messageBytes: 300, resendMs: 200 } });
  readonly counts = {
    acknowledged: 0,
    elections: 0,
    undone: 0,
    reads: 0,
    granted: 0,
    crashes: 0,
    disks: 0,
    recovered: 0,
    trims: 0,
    copies: 0,
  };
  /** What was on each region's disk at some moment. */
  readonly #images = new Map<string, ReturnType<PartitionScene['image']>>();
  /** Its disk was lost, and it has not got back what was on it. */
  #fragile: string | undefined;
  #gcn = 0;
  /** The GCN was raised, and nobody could be elected yet. */
  #isVacant = false;
  #writer = 'a';
  #members: readonly string[] = this.scene.regions;
  #values = 0;
  #newestSeen = 0;
  readonly #writes: { readonly asked: Asked<WriteAnswer>; readonly value: number; isCounted: boolean }[] = [];
  readonly #reads: {
    readonly region: string;
    readonly asked: Asked<ReadAnswer>;
    readonly atLeast: number;
    isCounted: boolean;
  }[] = [];
  readonly #acknowledged: Position[] = [];

  constructor() {
    for (const region of this.scene.regions) this.scene.copy(region).mayWrite = false;
    this.#elect();
  }

  run(steps: readonly Step[]): void {
    for (const each of steps) {
      this.#do(each);
      this.scene.turn();
      this.#check();
    }
    this.#heal(steps.length % 2 === 0);
  }

  #do({ what, region: index, choice }: Step): void {
    const { scene } = this;
    const region = scene.regions[index]!;
    const other = scene.regions[(index + 1 + (choice % 2)) % 3]!;
    const copy = scene.copy(region);
    if (what === 'write') {
      this.#values += 1;
      if (choice % 8 === 0) this.#images.set(this.#writer, scene.image(this.#writer));
      const value = this.#values;
      const asked = scene.put(this.#writer, 'x', value, { ms: 100_000 });
      this.#writes.push({ asked, value, isCounted: false });
    } else if (what === 'read') {
      this.#reads.push({
        region,
        asked: scene.read(region, 'x'),
        atLeast: this.#newestSeen,
        isCounted: false,
      });
    } else if (what === 'deliver' || what === 'double' || what === 'lose') {
      // Mostly the oldest message, sometimes one that overtakes.
      const at = choice % 4 > 0 ? 0 : choice % Math.max(1, scene.wire.length);
      const one = scene.wire[at];
      if (one === undefined) return;
      if (what !== 'double') scene.wire.splice(at, 1);
      if (what !== 'lose') scene.give(one);
    } else if (what === 'hold') copy.holdDisk();
    else if (what === 'release') copy.releaseDisk();
    else if (what === 'crash') this.#restart(region, choice);
    else if (what === 'disk') this.#loseDisk(choice % 4 < 3 ? this.#writer : region, choice);
    else if (what === 'cut') scene.cut(region, other);
    else if (what === 'mend') scene.mend(region, other);
    else if (what === 'elect') this.#elect(choice);
    else if (what === 'calm') scene.settle();
    else if (what === 'trim') this.#trim(region, choice);
    else if (what === 'others') scene.write(this.#writer, othersOf(choice), { ms: 100_000 });
    else scene.pass(choice % 40, { delivering: false });
  }

  /** Beyond the hard limit nobody is waited for. */
  #trim(region: string, choice: number): void {
    const policy = { keepMs: Infinity, keepBytes: Infinity, hardBytes: choice % 500 };
    const lsn = trimTo(this.scene.machine(region), policy);
    if (lsn === 0) return;
    this.scene.store(region).trim(lsn);
    this.counts.trims += 1;
  }

  #restart(region: string, choice: number): void {
    const { scene } = this;
    scene.copy(region).mayWrite = false;
    const isNoticed = choice % 2 === 0;
    scene.crash(region, { keeps: choice % 9, isNoticed });
    this.counts.crashes += 1;
    this.#start(region, isNoticed);
  }

  #start(region: string, isNoticed: boolean): void {
    const { scene } = this;
    scene.start(region, { isNoticed });
    if (this.#isVacant) scene.fence(region, this.#gcn);
    else if (region === this.#writer) this.#lead(scene.regions);
    else scene.follow(region, this.#gcn, this.#writer);
  }

  /** Only while a member of the lease set is left that has everything. */
  #loseDisk(region: string, choice: number): void {
    const { scene } = this;
    const image = this.#images.get(region);
    const isLeft = this.#members.some((member) => member !== region && this.#isSound(member));
    if (this.#fragile !== undefined || !isLeft) return;
    const { incarnation } = scene.machine(region);
    scene.copy(region).mayWrite = false;
    const isNoticed = choice % 2 === 0;
    scene.rollBack(region, choice % 5 === 0 ? undefined : image, isNoticed);
    // The failover state knows which process of it was the last.
    const store = scene.store(region);
    if (store.notes.incarnation < incarnation) store.note({ incarnation, building: true });
    this.#fragile = region;
    this.counts.disks += 1;
    this.#start(region, isNoticed);
  }

  #isSound(region: string): boolean {
    const { build, recovering } = this.scene.machine(region).status();
    return build === 'Built' && recovering !== true;
  }

  /** After a restart commits wait for all regions (rule 13); grants are for the lease set (rule 15). */
  #lead(commitSet: readonly string[]): void {
    const { scene } = this;
    const copy = scene.copy(this.#writer);
    scene.lead(this.#writer, this.#gcn, { commitSet, leaseSet: this.#members });
    copy.mayWrite = true;
    copy.grantMs = GRANT_MS;
    copy.grantees = this.#members;
  }

  /** Rules 7, 9 and 11: members of the lease set are fenced, report, and the one that is furthest becomes the writer. */
  #elect(choice = 0): void {
    const { scene } = this;
    const reachable = this.#members.filter((_, index) => this.#members.length === 1 || index !== choice % 4);
    const gcn = this.#gcn + 1;
    // Leases and grants run out before the GCN is raised (rule 4).
    scene.pass(GRANT_MS + 1, { delivering: false });
    const reported = reachable.filter((region) => {
      scene.copy(region).releaseDisk();
      const fenced = scene.fence(region, gcn);
      scene.turn();
      const { answer } = fenced;
      return answer === 'done' && scene.machine(region).status().build === 'Built';
    });
    // With the one that lost its disk alone, what it lacks is lost: that is one fault too many.
    this.#gcn = gcn;
    this.#isVacant = reported.every((region) => region === this.#fragile);
    if (this.#isVacant) return;
    for (const region of scene.regions) scene.copy(region).mayWrite = false;
    const furthest = reported
      .map((region) => ({ region, tail: scene.store(region).tail }))
      .sort((one, other) => comparePositions(other.tail, one.tail))[0]!;
    this.#writer = furthest.region;
    this.#members = reported;
    this.counts.elections += 1;
    const history = { table: scene.store(this.#writer).notes.table, tail: scene.store(this.#writer).tail };
    for (const position of this.#acknowledged) expect(contains(history, position)).toBe(true);
    this.#lead(reported);
    for (const region of scene.regions) if (region !== this.#writer) scene.follow(region, gcn, this.#writer);
  }

  #check(): void {
    for (const write of this.#writes) {
      if (write.isCounted || write.asked.answer === undefined) continue;
      write.isCounted = true;
      if (write.asked.answer.outcome !== 'done') continue;
      this.counts.acknowledged += 1;
      this.#acknowledged.push(write.asked.answer.position);
      this.#newestSeen = Math.max(this.#newestSeen, write.value);
    }
    for (const read of this.#reads) {
      if (read.isCounted || read.asked.answer === undefined) continue;
      read.isCounted = true;
      if (read.asked.answer.outcome !== 'done') continue;
      this.counts.reads += 1;
      if (read.region !== this.#writer) this.counts.granted += 1;
      const value = (valueOf(read.asked.answer.version) as number | undefined) ?? 0;
      expect(value).toBeGreaterThanOrEqual(read.atLeast);
      // Whoever reads from now on must not see less.
      this.#newestSeen = Math.max(this.#newestSeen, value);
    }
    for (const region of this.scene.regions) {
      if (this.scene.store(region).notes.building) this.counts.copies += 1;
      if (this.#fragile === region && this.#isSound(region)) this.#fragile = undefined;
      for (const event of this.scene.copy(region).events.splice(0)) {
        expect(['refused', 'short']).not.toContain(event.event);
        if (event.event === 'recovered') this.counts.recovered += 1;
        if (event.event !== 'undone') continue;
        this.counts.undone += event.count;
        expect(event.committed).toBe(false);
      }
    }
  }

  /** Everything is mended. With another election or without, all of them are waited for again and end with the same log. */
  #heal(withElection: boolean): void {
    const { scene } = this;
    for (const region of scene.regions) scene.copy(region).releaseDisk();
    for (const [a, b] of [
      ['a', 'b'],
      ['b', 'c'],
      ['a', 'c'],
    ] as const)
      scene.mend(a, b);
    if (withElection || this.#isVacant) this.#elect(3);
    this.#lead(scene.regions);
    scene.pass(2000);
    // It is being built, or found that it must be: the machine takes the writes away from it.
    if (scene.store(this.#writer).notes.building) this.#elect(3);
    this.#lead(scene.regions);
    scene.put(this.#writer, 'x', LAST);
    scene.pass(20_000);
    this.#check();
    const base = Math.max(...scene.regions.map((region) => scene.store(region).base));
    const writer = scene.store(this.#writer);
    for (const region of scene.regions) {
      const store = scene.store(region);
      expect(store.entriesAfter(base - 1, Infinity)).toEqual(writer.entriesAfter(base - 1, Infinity));
      expect(store.notes.gclsn).toBe(writer.tail.lsn);
      expect(store.notes.table).toEqual(writer.notes.table);
      expect(scene.documents(region)).toEqual(scene.documents(this.#writer));
    }
    expect(scene.documents(this.#writer)).toMatchObject({ x: LAST });
  }
}

test('no acknowledged write is lost, nothing committed is undone, and all logs become one', () => {
  const total = {
    acknowledged: 0,
    elections: 0,
    undone: 0,
    reads: 0,
    granted: 0,
    crashes: 0,
    disks: 0,
    recovered: 0,
    trims: 0,
    copies: 0,
  };
  fc.assert(
    fc.property(fc.array(step, { minLength: 60, maxLength: 200 }), (steps) => {
      const walk = new Walk();
      walk.run(steps);
      for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += walk.counts[name];
    }),
    { seed: 22, numRuns: 200 },
  );
  expect(total.acknowledged).toBeGreaterThan(200);
  expect(total.elections).toBeGreaterThan(400);
  expect(total.undone).toBeGreaterThan(50);
  expect(total.reads).toBeGreaterThan(100);
  expect(total.granted).toBeGreaterThan(30);
  expect(total.crashes).toBeGreaterThan(200);
  expect(total.disks).toBeGreaterThan(80);
  expect(total.recovered).toBeGreaterThan(5);
  expect(total.trims).toBeGreaterThan(50);
  expect(total.copies).toBeGreaterThan(20);
});
