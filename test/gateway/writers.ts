/**
 * Clients of the public kind under load, each with a connection and a session of its own: one call after the other on a few
 * documents of every partition-set, with everything that it asked and was told on record for the checkers. Values are unique.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Container, ErrorResponse, ItemDefinition, ItemResponse } from '@azure/cosmos';
import { type ConsistencyLevel, type Position, positionOrder } from 'baton/check';
import type { Random } from 'baton/sim';
import { positionIn, type Recorder } from '../chaos/record.ts';

export interface WriterOptions {
  readonly name: string;
  readonly container: Container;
  readonly recorder: Recorder;
  readonly random: Random;
  /** By partition-set. */
  readonly documents: ReadonlyMap<string, readonly string[]>;
  readonly setOf: (id: string) => string;
  /** What it reads at: that which its client asks for, or the account's. */
  readonly level: ConsistencyLevel;
  readonly thinkMs: number;
}

export interface Acknowledged {
  readonly partitionSet: string;
  readonly start: number;
  readonly end: number;
  /** Of the door that said so. */
  readonly endpoint: string;
}

interface Place {
  readonly partitionSet: string;
  readonly id: string;
}

interface Change {
  readonly place: Place;
  readonly value: string;
  readonly condition?: Position | 'absent';
  readonly call: () => Promise<ItemResponse<ItemDefinition>>;
}

/** Certainly not applied. Anything else that failed may have been. */
const NOT_APPLIED: ReadonlySet<number | string> = new Set([403, 404, 409, 412, 429, 503, 'ECONNREFUSED']);
/** What an application may be told while regions die. Anything else is a finding. */
const EXPECTED: ReadonlySet<number | string> = new Set([...NOT_APPLIED, 408]);

export class Writer {
  readonly name: string;
  readonly acknowledged: Acknowledged[] = [];
  readonly #options: WriterOptions;
  readonly #places: readonly Place[];
  readonly #seen = new Map<string, { readonly etag: string; readonly position: Position }>();
  readonly #session = new Map<string, Position>();
  #values = 0;

  constructor(options: WriterOptions) {
    this.name = options.name;
    this.#options = options;
    this.#places = [...options.documents].flatMap(([partitionSet, ids]) =>
      ids.map((id) => ({ partitionSet, id })),
    );
  }

  async run(isOver: () => boolean): Promise<void> {
    const { random, thinkMs } = this.#options;
    while (!isOver()) {
      await sleep(random.between(0.2, 1.8) * thinkMs);
      await this.#act();
    }
  }

  /** When the first write that began after that moment was acknowledged. */
  wroteAfter(moment: number): number | undefined {
    return this.acknowledged.find(({ start }) => start >= moment)?.end;
  }

  #act(): Promise<void> {
    const { random } = this.#options;
    const place = this.#places[random.integer(this.#places.length)]!;
    const choice = random.uniform();
    if (choice < 0.35) return this.#upsert(place);
    if (choice < 0.5) return this.#create();
    if (choice < 0.65) return this.#replace(place);
    return this.#read(place);
  }

  #upsert(place: Place): Promise<void> {
    const value = this.#nextValue();
    const call = () => this.#options.container.items.upsert({ id: place.id, value });
    return this.#write({ place, value, call });
  }

  /** A document that is written once, by this one: it has to be there in the end. */
  #create(): Promise<void> {
    const value = this.#nextValue();
    const place = { id: value, partitionSet: this.#options.setOf(value) };
    const call = () => this.#options.container.items.create({ id: value, value });
    return this.#write({ place, value, condition: 'absent', call });
  }

  /** Replaces the version that it saw last. */
  #replace(place: Place): Promise<void> {
    const seen = this.#seen.get(place.id);
    if (seen === undefined) return this.#upsert(place);
    const value = this.#nextValue();
    const accessCondition = { type: 'IfMatch', condition: seen.etag };
    const call = () => this.#item(place.id).replace({ id: place.id, value }, { accessCondition });
    return this.#write({ place, value, condition: seen.position, call });
  }

  async #write({ place, value, condition, call }: Change): Promise<void> {
    const { recorder, name: client } = this.#options;
    const { partitionSet, id } = place;
    const start = recorder.now();
    const fields = {
      kind: 'write',
      client,
      session: client,
      key: id,
      start,
      level: recorder.level,
      operation: value,
      value,
      condition,
    } as const;
    try {
      const answer = await call();
      const end = recorder.now();
      const position = positionIn(answer.resource?._etag);
      const tokenReceived = this.#took(partitionSet, answer);
      const endpoint = endpointOf(answer);
      recorder.write(partitionSet, {
        ...fields,
        region: endpoint,
        end,
        outcome: 'ok',
        position,
        tokenReceived,
      });
      this.acknowledged.push({ partitionSet, start, end, endpoint });
      this.#saw(id, answer);
    } catch (error) {
      const outcome = this.#failed('write', error);
      recorder.write(partitionSet, { ...fields, region: '', end: recorder.now(), outcome });
    }
  }

  async #read({ partitionSet, id }: Place): Promise<void> {
    const { recorder, name: client, level } = this.#options;
    const tokenSent = level === 'Session' ? this.#session.get(partitionSet) : undefined;
    const start = recorder.now();
    try {
      const answer = await this.#item(id).read<{ readonly value: string }>();
      const end = recorder.now();
      const told = tokenIn(answer.headers);
      const tokenReceived = this.#took(partitionSet, answer);
      recorder.read(partitionSet, {
        kind: 'read',
        outcome: 'ok',
        client,
        session: client,
        region: endpointOf(answer),
        key: id,
        level,
        start,
        end,
        value: answer.resource?.value,
        version: positionIn(answer.resource?._etag),
        snapshot: told,
        tokenSent,
        tokenReceived: level === 'Session' ? tokenReceived : undefined,
      });
      this.#saw(id, answer);
    } catch (error) {
      this.#failed('read', error);
    }
  }

  #failed(what: string, error: unknown): 'failed' | 'unknown' {
    const { recorder } = this.#options;
    const { code = 'none', substatus, message } = error as Partial<ErrorResponse>;
    recorder.count(`${what}: ${code}${substatus === undefined ? '' : `/${substatus}`}`);
    if (!EXPECTED.has(code)) recorder.wrong(`${this.name}: a ${what} ended with ${code}: ${message}`);
    return NOT_APPLIED.has(code) ? 'failed' : 'unknown';
  }

  /** What the client does with the token of an answer: it keeps the further of both. */
  #took(
    partitionSet: string,
    { headers }: Pick<ItemResponse<ItemDefinition>, 'headers'>,
  ): Position | undefined {
    const told = tokenIn(headers);
    const before = this.#session.get(partitionSet);
    if (told !== undefined && further(before, told)) this.#session.set(partitionSet, told);
    return this.#session.get(partitionSet);
  }

  #saw(id: string, { resource }: Pick<ItemResponse<ItemDefinition>, 'resource'>): void {
    const position = positionIn(resource?._etag);
    if (position !== undefined) this.#seen.set(id, { etag: resource!._etag, position });
  }

  #item(id: string) {
    return this.#options.container.item(id, id);
  }

  #nextValue(): string {
    this.#values += 1;
    return `${this.name}-${this.#values}`;
  }
}

/** The door that answered in the end. */
export function endpointOf({ diagnostics }: Pick<ItemResponse<ItemDefinition>, 'diagnostics'>): string {
  const { locationEndpointsContacted } = diagnostics.clientSideRequestStatistics;
  return (locationEndpointsContacted.at(-1) ?? '').replace(/\/$/, '');
}

export function tokenIn(headers: Readonly<Record<string, unknown>>): Position | undefined {
  const token = headers['x-ms-session-token'];
  const [, epoch, lsn] = /^\d+:(\d+)#(\d+)$/.exec(typeof token === 'string' ? token : '') ?? [];
  return epoch === undefined ? undefined : { epoch: Number(epoch), lsn: Number(lsn) };
}

function further(before: Position | undefined, after: Position | undefined): boolean {
  return after !== undefined && (before === undefined || positionOrder(after, before) > 0);
}
