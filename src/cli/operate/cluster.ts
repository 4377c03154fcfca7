/**
 * The operators' client. It asks every node at once and waits for none of them long: in an outage some are gone, and that is
 * when people look. Wishes go to one live node, the writer's if it can be; when that surely did not hear, or may have, the
 * next is asked with the same id, under which a wish counts once.
 */
import type { z } from 'zod';
import type { IntentBody } from '../../failover/index.ts';
import { OperateError } from './errors.ts';
import type { FoundCluster, KnownNode } from './find.ts';
import { type Answered, ask, type NodeRequest, type Outcome } from './http.ts';
import { type ClusterView, mergeNodes, type NodeStatus, type PartitionSet } from './merge.ts';
import { type Places, placesIn } from './places.ts';
import {
  type ClusterMapFacts,
  doneAnswer,
  intentAnswer,
  type LostWriteRecord,
  mapAnswer,
  nodeAnswer,
  type NodeFacts,
  partitionSetsAnswer,
  type PartitionSetView,
} from './shapes.ts';

export interface ClusterOptions {
  /** For each question to a node. */
  readonly timeoutMs: number;
  readonly now: () => number;
}

export interface Wish {
  readonly intent: IntentBody;
  readonly id: string;
  readonly who: string;
  readonly gcn?: number;
  readonly dryRun?: true;
}

export type Posted =
  | { readonly kind: 'accepted'; readonly state: PartitionSetView; readonly node: string }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  /** It may be in force, or come into force. */
  | { readonly kind: 'unknown'; readonly reason: string }
  | { readonly kind: 'unheard'; readonly reason: string };

export interface LostWriteAt extends LostWriteRecord {
  readonly node: string;
  readonly region: string;
}

/** One of the answers that together are the whole. */
export interface Page {
  /** Where the next one begins; absent in the last. */
  readonly next?: string | number | undefined;
}

export interface PagedRequest<P extends Page> {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** The parameter that takes `next`, and what it is at first. */
  readonly cursor: 'before' | 'after';
  readonly start?: string;
  readonly shape: z.ZodType<P>;
  /** So many are enough, counted so. */
  readonly limit: number;
  readonly count: (page: P) => number;
}

export interface NodePages<P extends Page> {
  readonly node: KnownNode;
  readonly pages: readonly P[];
  readonly hasMore: boolean;
  /** Why it did not give all. */
  readonly failure?: Omit<Complaint, 'name'>;
}

/** What nodes give at most in one answer. */
const PAGE = 1000;
/** More names make a path too long: then all are asked for. */
const MOST_NAMED = 50;
/** A wish waits for a majority of acceptors. */
const POST_TIMEOUT_MS = 10_000;
const AT_A_TIME = 16;
/** It has no copy, or no time: another node may. */
const NOT_TAKEN: ReadonlySet<number> = new Set([404, 429]);

export class OperatedCluster {
  readonly found: FoundCluster;
  readonly #options: ClusterOptions;
  /** As they were told last. */
  #places: Places | undefined;

  constructor(found: FoundCluster, options: ClusterOptions) {
    this.found = found;
    this.#options = options;
  }

  /** Everything there is to see. `CLUSTER_UNREACHABLE` when no node answers, unless that is what one wants to see. */
  async look({ evenIfDead = false } = {}): Promise<ClusterView> {
    const [nodes, places] = await Promise.all([
      Promise.all(this.found.nodes.map((node) => this.#lookAt(node))),
      this.#askForPlaces(),
    ]);
    if (!evenIfDead && !nodes.some(({ isUp }) => isUp)) throw this.#unreachable(nodes);
    return {
      cluster: this.found.name,
      at: new Date(this.#options.now()).toISOString(),
      regions: this.found.regions,
      nodes,
      partitionSets: mergeNodes(nodes, places),
    };
  }

  /** Which partition-sets there are; as it was when they were looked at last, if they were. */
  async places(): Promise<Places> {
    return this.#places ?? this.#askForPlaces();
  }

  async #askForPlaces(): Promise<Places> {
    const { nodes, name, firstPlaces } = this.found;
    const answers = await Promise.all(
      nodes.map((node) => this.#ask(node, { path: '/v1/map', shape: mapAnswer })),
    );
    const maps = answers.flatMap((outcome): ClusterMapFacts[] =>
      outcome.kind === 'answer' ? [outcome.value] : [],
    );
    const file = { all: firstPlaces, isWhole: false };
    this.#places = placesIn(maps, name) ?? this.#places ?? file;
    return this.#places;
  }

  /**
   * Page after page, from every node that holds one of these partition-sets (absent: any). A node that falls silent has given
   * what it gave. `CLUSTER_UNREACHABLE` when none gives anything.
   */
  async read<P extends Page>(
    names: readonly string[] | undefined,
    request: PagedRequest<P>,
  ): Promise<readonly NodePages<P>[]> {
    const nodes = this.found.nodes.map((node) => ({
      node,
      names: names?.filter((name) => this.#holders(name).includes(node)),
    }));
    const read = await Promise.all(
      nodes
        .filter(({ names: held }) => held?.length !== 0)
        .map(({ node, names: held }) => this.#pages(node, held, request)),
    );
    if (read.some(({ pages }) => pages.length > 0)) return read;
    throw this.#unreachable(read.map(({ node: { name }, failure }) => ({ name, ...failure })));
  }

  async #pages<P extends Page>(
    node: KnownNode,
    names: readonly string[] | undefined,
    { path, query = {}, cursor, start, limit, shape, count }: PagedRequest<P>,
  ): Promise<NodePages<P>> {
    const isNamed = names !== undefined && names.length <= MOST_NAMED;
    const size = names === undefined || isNamed ? Math.min(limit, PAGE) : PAGE;
    const fixed = Object.entries({ ...query, limit: String(size) });
    const pages: P[] = [];
    let [next, left] = [start, limit];
    for (;;) {
      const asked = new URLSearchParams(fixed);
      if (isNamed) for (const name of names) asked.append('partitionSet', name);
      if (next !== undefined) asked.set(cursor, next);
      const outcome = await this.#ask(node, { path: `${path}?${asked.toString()}`, shape });
      if (outcome.kind !== 'answer') return { node, pages, hasMore: true, failure: complaintIn(outcome) };
      pages.push(outcome.value);
      left -= count(outcome.value);
      const before = next;
      next = outcome.value.next === undefined ? undefined : String(outcome.value.next);
      if (left <= 0 || next === undefined || next === before)
        return { node, pages, hasMore: next !== undefined };
    }
  }

  /** At the node that keeps it. */
  async settleLostWrite(
    { node: name, partitionSet, epoch, lsn }: LostWriteAt,
    how: 'reapply' | 'dismiss',
    overwrite: boolean,
  ): Promise<Outcome<unknown>> {
    const node = this.found.nodes.find((one) => one.name === name)!;
    return this.#ask(node, {
      method: 'POST',
      path: `/v1/lost-writes/${how}`,
      body: { partitionSet, epoch, lsn, ...(overwrite && { force: true }) },
      shape: doneAnswer,
      timeoutMs: POST_TIMEOUT_MS,
    });
  }

  /** `known` says whom to ask first. */
  async post(partitionSet: PartitionSet, wish: Wish, known?: ClusterView): Promise<Posted> {
    const path = `/v1/partition-sets/${encodeURIComponent(partitionSet.name)}/intents`;
    let unknown: string | undefined;
    let unheard = 'no node holds it';
    for (const node of this.#inOrder(partitionSet, known)) {
      const outcome = await this.#ask(node, {
        method: 'POST',
        path,
        body: wish,
        shape: intentAnswer,
        timeoutMs: POST_TIMEOUT_MS,
      });
      if (outcome.kind === 'answer') {
        return { kind: 'accepted', state: outcome.value.state, node: node.name };
      }
      const reason = `${node.name}: ${complaintIn(outcome).reason}`;
      if (isNotLetIn(outcome)) throw notLetIn(node.name, complaintIn(outcome).reason ?? '');
      if (outcome.kind === 'silence') {
        if (outcome.mayHaveHeard) unknown = reason;
        else unheard = reason;
      } else if (NOT_TAKEN.has(outcome.status) || outcome.code === 'NOT_READY') unheard = reason;
      else if (outcome.status >= 500) unknown = reason;
      else if (unknown !== undefined) return { kind: 'unknown', reason };
      else return { kind: 'refused', code: outcome.code, message: outcome.message };
    }
    return unknown === undefined
      ? { kind: 'unheard', reason: unheard }
      : { kind: 'unknown', reason: unknown };
  }

  async #lookAt(node: KnownNode): Promise<NodeStatus> {
    const [facts, seen] = await Promise.all([
      this.#ask(node, { path: '/v1/node', shape: nodeAnswer }),
      this.#ask(node, { path: '/v1/partition-sets', shape: partitionSetsAnswer }),
    ]);
    if (facts.kind !== 'answer') return { ...node, isUp: false, ...complaintIn(facts), views: [] };
    const stranger = strangerIn(facts.value, this.found.name, node);
    if (stranger !== undefined) return { ...node, isUp: false, reason: stranger, views: [] };
    // It waits for its acceptors: what it knows of those is wanted then.
    if (seen.kind !== 'answer') {
      return { ...node, isUp: false, ...complaintIn(seen), facts: facts.value, views: [] };
    }
    return {
      ...node,
      isUp: true,
      facts: facts.value,
      rttMs: facts.rttMs,
      ...this.#offsetOf(facts),
      ...(facts.certificateEnds !== undefined && { certificateEnds: facts.certificateEnds }),
      views: seen.value.partitionSets,
    };
  }

  #offsetOf({ value: { now, startedAt, uptimeMs }, date, rttMs }: Answered<NodeFacts>): Partial<NodeStatus> {
    const told = now === undefined ? Date.parse(startedAt ?? '') + (uptimeMs ?? Number.NaN) : Date.parse(now);
    const isTold = !Number.isNaN(told);
    if (!isTold && date === undefined) return {};
    // A `Date` header has no fraction of its second.
    const [middle, error] = isTold ? [told, 0] : [date! + 500, 500];
    return { offsetMs: middle - (this.#options.now() - rttMs / 2), offsetErrorMs: error + rttMs / 2 };
  }

  async #ask<T>(
    node: KnownNode,
    request: Omit<NodeRequest<T>, 'timeoutMs'> & { readonly timeoutMs?: number },
  ): Promise<Outcome<T>> {
    if (node.http === undefined) {
      return { kind: 'silence', mayHaveHeard: false, reason: 'the cluster file gives it no http address' };
    }
    const { timeoutMs } = this.#options;
    return ask(node.http, this.found.credentials, { timeoutMs, ...request });
  }

  #holders(name: string): readonly KnownNode[] {
    const column = (this.#places?.all ?? this.found.firstPlaces).get(name)?.column;
    return this.found.nodes.filter((node) => column === undefined || node.column === column);
  }

  #inOrder({ name, state }: PartitionSet, known: ClusterView | undefined): readonly KnownNode[] {
    const isUp = new Map(known?.nodes.map((node) => [node.name, node.isUp]));
    const rank = (node: KnownNode): number =>
      (isUp.get(node.name) === false ? 2 : 0) + (node.region === state?.writeRegion ? 0 : 1);
    return [...this.#holders(name)].sort((a, b) => rank(a) - rank(b));
  }

  #unreachable(nodes: readonly Complaint[]): OperateError {
    const why = nodes.map(({ name, reason = '' }) => `${name}: ${reason}`).join('; ');
    const refusing = nodes.find(({ isRefused }) => isRefused === true);
    if (refusing !== undefined) return notLetIn(refusing.name, refusing.reason ?? '');
    const { isLocal, dataFlag, name } = this.found;
    const hint = isLocal ? ` If the cluster is not running, start it with \`baton up${dataFlag}\`.` : '';
    return new OperateError('CLUSTER_UNREACHABLE', `No node of the cluster ${name} answers (${why}).${hint}`);
  }
}

export interface Complaint {
  readonly name: string;
  readonly reason?: string;
  readonly isRefused?: boolean;
}

function complaintIn(outcome: Exclude<Outcome<unknown>, Answered<unknown>>): Omit<Complaint, 'name'> {
  if (outcome.kind === 'silence') return { reason: outcome.reason };
  return { reason: outcome.message, ...(isNotLetIn(outcome) && { isRefused: true }) };
}

function isNotLetIn(outcome: Outcome<unknown>): boolean {
  return outcome.kind === 'refusal' && (outcome.status === 401 || outcome.status === 403);
}

function notLetIn(node: string, message: string): OperateError {
  return new OperateError(
    'CREDENTIALS_REFUSED',
    `${node} does not let this operator in: ${message} Check tokens.operator in the cluster file, or run \`baton doctor\`.`,
  );
}

function strangerIn(facts: NodeFacts, cluster: string, { name }: KnownNode): string | undefined {
  if (facts.cluster !== cluster) return `a node of the cluster ${facts.cluster} answers there`;
  return facts.node === name ? undefined : `the node ${facts.node} answers there`;
}

/** In order, a few at a time. */
export async function inParallel<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atATime = AT_A_TIME,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next;
      next += 1;
      results[at] = await work(items[at]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atATime, items.length) }, worker));
  return results;
}
