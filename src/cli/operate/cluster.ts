/**
 * The operators' client. It asks every node at once and waits for none of them long: in an outage some are gone, and that is
 * when people look. Wishes go to one live node, the writer's if it can be; when that surely did not hear, or may have, the
 * next is asked with the same id, under which a wish counts once.
 */
import type { IntentBody } from '../../failover/index.ts';
import { OperateError } from './errors.ts';
import type { FoundCluster, KnownNode } from './find.ts';
import { type Answered, ask, type NodeRequest, type Outcome } from './http.ts';
import { type ClusterView, mergeNodes, type NodeStatus, type PartitionSet } from './merge.ts';
import {
  doneAnswer,
  historyAnswer,
  type HistoryRecord,
  intentAnswer,
  lostWritesAnswer,
  type LostWriteRecord,
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

/** A wish waits for a majority of acceptors. */
const POST_TIMEOUT_MS = 10_000;
const AT_A_TIME = 16;
/** It has no copy, or no time: another node may. */
const NOT_TAKEN: ReadonlySet<number> = new Set([404, 429]);

export class OperatedCluster {
  readonly found: FoundCluster;
  readonly #options: ClusterOptions;

  constructor(found: FoundCluster, options: ClusterOptions) {
    this.found = found;
    this.#options = options;
  }

  /** Everything there is to see. `CLUSTER_UNREACHABLE` when no node answers, unless that is what one wants to see. */
  async look({ evenIfDead = false } = {}): Promise<ClusterView> {
    const nodes = await Promise.all(this.found.nodes.map((node) => this.#lookAt(node)));
    if (!evenIfDead && !nodes.some(({ isUp }) => isUp)) throw this.#unreachable(nodes);
    return {
      cluster: this.found.name,
      at: new Date(this.#options.now()).toISOString(),
      regions: this.found.regions,
      nodes,
      partitionSets: mergeNodes(nodes, this.found.partitionSets),
    };
  }

  async history({ name }: PartitionSet): Promise<readonly HistoryRecord[]> {
    const path = `/v1/partition-sets/${encodeURIComponent(name)}/history`;
    const answers = await this.#askAll(this.#holders(name), { path, shape: historyAnswer });
    const all = answers.flatMap(({ answer }) => answer.value.history);
    const once = new Map(all.map((entry) => [JSON.stringify(entry), entry]));
    return [...once.values()].sort((a, b) => a.to - b.to || a.from - b.from || compare(a.at, b.at));
  }

  async lostWrites(): Promise<readonly LostWriteAt[]> {
    const request = { path: '/v1/lost-writes', shape: lostWritesAnswer };
    const answers = await this.#askAll(this.found.nodes, request);
    return answers.flatMap(({ node: { name: node, region }, answer }) =>
      answer.value.lostWrites.map((lost) => ({ ...lost, node, region })),
    );
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

  async #askAll<T>(
    nodes: readonly KnownNode[],
    request: Omit<NodeRequest<T>, 'timeoutMs'>,
  ): Promise<readonly { readonly node: KnownNode; readonly answer: Answered<T> }[]> {
    const outcomes = await Promise.all(
      nodes.map(async (node) => ({ node, outcome: await this.#ask(node, request) })),
    );
    const answers = outcomes.flatMap(({ node, outcome }) =>
      outcome.kind === 'answer' ? [{ node, answer: outcome }] : [],
    );
    if (answers.length > 0) return answers;
    throw this.#unreachable(
      outcomes.flatMap(({ node: { name }, outcome }) =>
        outcome.kind === 'answer' ? [] : [{ name, ...complaintIn(outcome) }],
      ),
    );
  }

  #holders(name: string): readonly KnownNode[] {
    const column = this.found.partitionSets.get(name)?.column;
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
    return new OperateError('CLUSTER_UNREACHABLE', `No node of ${this.found.name} answers (${why}).`);
  }
}

interface Complaint {
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
  return new OperateError('CREDENTIALS_REFUSED', `${node} does not let this operator in: ${message}`);
}

function strangerIn(facts: NodeFacts, cluster: string, { name }: KnownNode): string | undefined {
  if (facts.cluster !== cluster) return `a node of the cluster ${facts.cluster} answers there`;
  return facts.node === name ? undefined : `the node ${facts.node} answers there`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
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
