/** Watching the cluster from outside, through the nodes' HTTP: who writes each partition-set, and when that changes. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import * as z from 'zod/mini';
import type { Address } from '../../transport/index.ts';

const ASK_MS = 1000;
const MOST_BYTES = 64 * 1024 * 1024;

const VIEWS = z.object({
  partitionSets: z.array(
    z.object({
      partitionSet: z.string(),
      gcn: z.number(),
      writeRegion: z.nullish(z.string()),
      local: z.object({ region: z.string(), canWrite: z.boolean() }),
      cause: z.optional(z.string()),
      pin: z.nullish(z.string()),
    }),
  ),
});

export interface Observed {
  readonly partitionSet: string;
  readonly gcn: number;
  /** By the view with the highest GCN. */
  readonly writeRegion: string | undefined;
  /** The write region's own node says that it takes writes. */
  readonly canWrite: boolean;
  /** Why that region was given the writes. */
  readonly cause?: MoveCause;
}

/** A failover, by what the write region lacked or was told; or a planned move, by whose wish. */
export type MoveCause = 'silence' | 'unable' | 'stop' | 'signal' | 'forced' | 'operator' | 'planned';

export interface Moved {
  readonly partitionSets: readonly string[];
  readonly from: string | undefined;
  readonly to: string;
  readonly cause?: MoveCause;
}

export interface ClientTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** What nodes are shown. */
export interface Shown {
  readonly tls?: ClientTls;
  readonly token?: string;
}

export interface ObserverOptions extends Shown {
  readonly nodes: readonly { readonly http: Address }[];
}

export class Observer {
  readonly #options: ObserverOptions;

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  /** By partition-set; what no node answers for is not in it. */
  async observe(): Promise<ReadonlyMap<string, Observed>> {
    const { nodes } = this.#options;
    const answers = await Promise.all(
      nodes.map(({ http }) => askJson(http, '/v1/partition-sets', this.#options).catch(() => undefined)),
    );
    const merged = new Map<string, Observed>();
    const writers = new Set<string>();
    for (const answer of answers) {
      const parsed = VIEWS.safeParse(answer);
      for (const { partitionSet, gcn, writeRegion, local, cause, pin } of parsed.data?.partitionSets ?? []) {
        if (local.canWrite) writers.add(`${partitionSet} ${local.region}`);
        const known = merged.get(partitionSet);
        if (known === undefined || known.gcn < gcn)
          merged.set(partitionSet, {
            partitionSet,
            gcn,
            writeRegion: writeRegion ?? undefined,
            canWrite: false,
            ...causeOf(cause, pin != null && pin === writeRegion),
          });
      }
    }
    for (const [name, view] of merged)
      merged.set(name, { ...view, canWrite: writers.has(`${name} ${view.writeRegion}`) });
    return merged;
  }
}

const FAILOVERS: readonly MoveCause[] = ['silence', 'unable', 'stop', 'signal', 'forced'];

/** A move that an operator asks for pins the writes; any other planned move does not. */
function causeOf(cause: string | undefined, isPinned: boolean): { readonly cause?: MoveCause } {
  if (cause === 'switch') return { cause: isPinned ? 'operator' : 'planned' };
  const known = FAILOVERS.find((one) => one === cause);
  return known === undefined ? {} : { cause: known };
}

/** What changed hands, together where the hands and the cause are the same. */
export function movesBetween(
  before: ReadonlyMap<string, Observed>,
  after: ReadonlyMap<string, Observed>,
): Moved[] {
  const moves = new Map<string, Moved & { readonly partitionSets: string[] }>();
  for (const { partitionSet, writeRegion: to, cause } of after.values()) {
    const from = before.get(partitionSet)?.writeRegion;
    if (to === undefined || to === from) continue;
    const key = `${from ?? ''} ${to} ${cause ?? ''}`;
    const move = moves.get(key) ?? { from, to, ...(cause && { cause }), partitionSets: [] };
    move.partitionSets.push(partitionSet);
    moves.set(key, move);
  }
  return [...moves.values()];
}

function askJson({ host, port }: Address, path: string, { tls, token }: Shown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const options = { host, port, path, headers, agent: false, signal: AbortSignal.timeout(ASK_MS) };
    const request = tls === undefined ? httpRequest(options) : httpsRequest({ ...options, ...tls });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (bytes: Buffer) => {
        chunks.push(bytes);
        length += bytes.length;
        if (length > MOST_BYTES) request.destroy(new Error('too long an answer'));
      });
      response.on('error', reject);
      response.on('end', () => {
        try {
          if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
          resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')));
        } catch (error) {
          reject(error);
        }
      });
    });
    request.end();
  });
}
