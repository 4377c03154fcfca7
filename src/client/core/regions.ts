/**
 * What a client has learnt about the regions (paper 5.1). No DNS update tells that a partition-set has failed over: "absent
 * other evidence, every error becomes evidence of the need to try other regions. This evidence is collected into a
 * per-partition-set cache, and regions are tried in order of the likelihood of success."
 *
 * So for each partition-set this remembers where writes last worked, and for each region what went wrong there last. A
 * node that refuses a write may say who it believes the writer is; such a hint is worth a try and no more, and a lower GCN
 * than one knows is old news. Whatever is remembered only orders the regions, it never rules one out: a cache that is wrong
 * costs a round trip.
 *
 * How far away a region is does not depend on the partition-set, so latencies are kept for each region.
 */
import { gcnOf, type Position, type RegionName } from '../../engine/core/index.ts';
import { Latency } from './latency.ts';

export type OperationKind = 'write' | 'read';

/** Who a node believes to be the writer. */
export interface WriterHint {
  readonly region: RegionName;
  readonly gcn: number;
}

export interface KnownWriter extends WriterHint {
  readonly learntAtMs: number;
  /** What was learnt later has a higher one. */
  readonly order: number;
  /** A write worked there, or somebody said so. */
  readonly from: 'answer' | 'hint';
}

/** What speaks against a region. */
export interface Evidence {
  readonly code: string;
  readonly atMs: number;
  readonly order: number;
  /** How often in a row. */
  readonly times: number;
}

/** A refusal speaks of reads or of writes; who cannot be reached can do neither. */
type Subject = OperationKind | 'contact';

interface Knowledge {
  writer: KnownWriter | undefined;
  readonly against: Map<RegionName, Map<Subject, Evidence>>;
}

/** A region that failed is avoided for this long, and twice as long each time it fails again. */
const AVOID_MS = 500;
const AVOID_AT_MOST_MS = 10_000;

export class RegionCache {
  #regions: readonly RegionName[];
  readonly #knowledge = new Map<string, Knowledge>();
  readonly #latencies = new Map<RegionName, Record<OperationKind, Latency>>();

  readonly #watchers = new Map<string, Set<() => void>>();
  #order = 0;

  /** In order of priority. */
  constructor(regions: readonly RegionName[]) {
    this.#regions = regions;
  }

  get regions(): readonly RegionName[] {
    return this.#regions;
  }

  /** The account's record has changed. What was learnt about regions that are left stays. */
  setRegions(regions: readonly RegionName[]): void {
    this.#regions = regions;
    for (const region of this.#latencies.keys())
      if (!regions.includes(region)) this.#latencies.delete(region);
    for (const known of this.#knowledge.values()) {
      for (const region of known.against.keys()) if (!regions.includes(region)) known.against.delete(region);
      if (known.writer !== undefined && !regions.includes(known.writer.region)) known.writer = undefined;
    }
  }

  /** The partition-set is no longer in the map. */
  forget(partitionSet: string): void {
    this.#knowledge.delete(partitionSet);
  }

  // ---- what is known

  writerOf(partitionSet: string): KnownWriter | undefined {
    return this.#knowledge.get(partitionSet)?.writer;
  }

  /** The writer, unless something has spoken against it since that was learnt. */
  likelyWriter(partitionSet: string): KnownWriter | undefined {
    const writer = this.writerOf(partitionSet);
    if (writer === undefined) return undefined;
    const evidence = this.evidenceAgainst(partitionSet, writer.region, 'write');
    return evidence !== undefined && evidence.order > writer.order ? undefined : writer;
  }

  /** The latest that speaks against doing that there. */
  evidenceAgainst(partitionSet: string, region: RegionName, kind: OperationKind): Evidence | undefined {
    const against = this.#knowledge.get(partitionSet)?.against.get(region);
    const [refusal, failure] = [against?.get(kind), against?.get('contact')];
    if (refusal === undefined || failure === undefined) return refusal ?? failure;
    return refusal.order > failure.order ? refusal : failure;
  }

  /** Whether what speaks against the region is still fresh. */
  isAvoided(partitionSet: string, region: RegionName, kind: OperationKind, nowMs: number): boolean {
    const evidence = this.evidenceAgainst(partitionSet, region, kind);
    if (evidence === undefined) return false;
    const forMs = Math.min(AVOID_AT_MOST_MS, AVOID_MS * 2 ** Math.min(evidence.times - 1, 10));
    return nowMs < evidence.atMs + forMs;
  }

  latency(region: RegionName, kind: OperationKind): Latency {
    let both = this.#latencies.get(region);
    if (both === undefined) {
      both = { write: new Latency(), read: new Latency() };
      this.#latencies.set(region, both);
    }
    return both[kind];
  }

  /** Told whenever somebody has learnt of another writer, for those who wait for one. Returns how not to be. */
  watch(partitionSet: string, onNews: () => void): () => void {
    let watching = this.#watchers.get(partitionSet);
    if (watching === undefined) this.#watchers.set(partitionSet, (watching = new Set()));
    watching.add(onNews);
    return () => {
      watching.delete(onNews);
      if (watching.size === 0) this.#watchers.delete(partitionSet);
    };
  }

  // ---- what is learnt

  /** A write was carried out or judged there: it was the writer when the attempt reached it. */
  wrote(
    partitionSet: string,
    region: RegionName,
    { position, startedAtMs, nowMs }: { position: Position; startedAtMs: number; nowMs: number },
  ): void {
    const before = this.likelyWriter(partitionSet)?.region;
    this.#clear(partitionSet, region, 'write');
    this.latency(region, 'write').add(nowMs - startedAtMs);
    const known = this.#of(partitionSet);
    const { writer } = known;
    // The position may be that of an older entry: a write that is answered a second time.
    const gcn = gcnOf(position.epoch);
    const isSame = writer?.region === region;
    if (writer !== undefined && !isSame && gcn < writer.gcn && startedAtMs < writer.learntAtMs) return;
    known.writer = {
      region,
      gcn: isSame ? Math.max(gcn, writer.gcn) : gcn,
      learntAtMs: nowMs,
      order: this.#next(),
      from: 'answer',
    };
    if (before !== region) this.#tell(partitionSet);
  }

  read(
    partitionSet: string,
    region: RegionName,
    { startedAtMs, nowMs }: { startedAtMs: number; nowMs: number },
  ): void {
    this.#clear(partitionSet, region, 'read');
    this.latency(region, 'read').add(nowMs - startedAtMs);
  }

  /** Says whether it is news. */
  hinted(partitionSet: string, { region, gcn }: WriterHint, nowMs: number): boolean {
    if (!this.#regions.includes(region)) return false;
    const known = this.#of(partitionSet);
    if (known.writer !== undefined && gcn <= known.writer.gcn) return false;
    known.writer = { region, gcn, learntAtMs: nowMs, order: this.#next(), from: 'hint' };
    this.#tell(partitionSet);
    return true;
  }

  /** It was asked for, and says of itself that it can write: that outweighs what spoke against it, unless a later writer is known. */
  found(partitionSet: string, { region, gcn }: WriterHint, nowMs: number): void {
    if (!this.#regions.includes(region)) return;
    const known = this.#of(partitionSet);
    if (known.writer !== undefined && gcn < known.writer.gcn) return;
    known.writer = { region, gcn, learntAtMs: nowMs, order: this.#next(), from: 'hint' };
    this.#tell(partitionSet);
  }

  /** It answered, and would not. */
  refused(partitionSet: string, region: RegionName, kind: OperationKind, code: string, nowMs: number): void {
    this.#of(partitionSet).against.get(region)?.delete('contact');
    this.#hold(partitionSet, region, kind, code, nowMs);
  }

  /** It did not answer. */
  failed(partitionSet: string, region: RegionName, code: string, nowMs: number): void {
    this.#hold(partitionSet, region, 'contact', code, nowMs);
  }

  #hold(partitionSet: string, region: RegionName, subject: Subject, code: string, atMs: number): void {
    const { against } = this.#of(partitionSet);
    let held = against.get(region);
    if (held === undefined) {
      held = new Map();
      against.set(region, held);
    }
    const times = (held.get(subject)?.times ?? 0) + 1;
    held.set(subject, { code, atMs, order: this.#next(), times });
  }

  #clear(partitionSet: string, region: RegionName, kind: OperationKind): void {
    const held = this.#knowledge.get(partitionSet)?.against.get(region);
    held?.delete(kind);
    held?.delete('contact');
  }

  #tell(partitionSet: string): void {
    for (const onNews of this.#watchers.get(partitionSet) ?? []) onNews();
  }

  #next(): number {
    this.#order += 1;
    return this.#order;
  }

  #of(partitionSet: string): Knowledge {
    let known = this.#knowledge.get(partitionSet);
    if (known === undefined) {
      known = { writer: undefined, against: new Map() };
      this.#knowledge.set(partitionSet, known);
    }
    return known;
  }
}
