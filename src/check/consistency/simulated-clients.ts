/**
 * The clients of a simulated run. A call is sent, takes effect at the store, and is answered; any of the steps may be the last
 * that the client hears of. A request whose client gave up may still take effect later. A write of unknown outcome is sometimes
 * sent again under its name, and a token is sometimes handed to another client.
 */
import { must } from '../../protocol/index.ts';
import type { ClientOperation, ClientRead, ClientWrite, Position } from './history.ts';
import { BEFORE_ALL, laterOf, positionOrder, samePosition } from './history.ts';
import { endOfLog, type SimulatedEntry, type SimulatedStore } from './simulated-run.ts';

type WriteRequest = Pick<ClientWrite, 'kind' | 'key' | 'operation' | 'value' | 'condition'>;

interface Call {
  readonly id: string;
  readonly client: number;
  readonly region: number;
  readonly start: number;
  readonly tokenSent: Position | undefined;
  /** Absent: a read of these keys. */
  readonly write: WriteRequest | undefined;
  readonly keys: readonly string[];
  entry?: SimulatedEntry;
  reads?: readonly Partial<ClientRead>[];
  waits: number;
}

const PATIENCE = 30;

export class RunClients {
  readonly operations: ClientOperation[] = [];
  readonly #store: SimulatedStore;
  readonly #calls: (Call | undefined)[];
  readonly #tokens: Position[];
  /** Requests that are still on their way although their clients gave up. */
  readonly #late: WriteRequest[] = [];
  /** Writes of unknown outcome that their client may send again. */
  readonly #open: (WriteRequest | undefined)[];
  #count = 0;

  constructor(store: SimulatedStore) {
    this.#store = store;
    const { clients } = store.options;
    this.#calls = Array.from({ length: clients });
    this.#open = Array.from({ length: clients });
    this.#tokens = Array.from({ length: clients }, () => BEFORE_ALL);
  }

  isBusy(): boolean {
    return this.#count < this.#store.options.operations || this.#calls.some((call) => call !== undefined);
  }

  step(): void {
    const { choose, options } = this.#store;
    if (this.#late.length > 0 && choose(10) === 0) {
      this.#apply(must(this.#late.splice(choose(this.#late.length), 1)[0]));
      return;
    }
    const client = choose(options.clients);
    const call = this.#calls[client];
    if (call !== undefined) this.#advance(call);
    else if (this.#count < options.operations) this.#calls[client] = this.#begin(client);
  }

  /** After healing: everybody reads everything everywhere. */
  finish(): number {
    const store = this.#store;
    const quietFrom = (store.clock += 1);
    for (let key = 0; key < store.options.keys; key += 1) {
      for (const [region] of store.regions.entries()) {
        const call = { ...this.#newCall(0, undefined, [`key ${key}`]), region };
        store.clock += 1;
        this.#answer({ ...call, reads: [readOf(`key ${key}`, store.writer.log)] }, 'ok');
      }
    }
    return quietFrom;
  }

  #begin(client: number): Call {
    const { choose, options } = this.#store;
    const key = `key ${choose(options.keys)}`;
    const open = this.#open[client];
    if (open !== undefined && choose(2) === 0) return this.#newCall(client, open, [open.key]);
    if (choose(2) === 0) {
      const keys = choose(3) === 0 ? [key, `key ${choose(options.keys)}`] : [key];
      return this.#newCall(client, undefined, [...new Set(keys)]);
    }
    return this.#newCall(client, this.#newWrite(key), [key]);
  }

  #newWrite(key: string): WriteRequest {
    const { choose, writer } = this.#store;
    const operation = `o${this.#count}`;
    const newest = writer.log.findLast((entry) => entry.key === key);
    const met = newest?.value === undefined ? ('absent' as const) : endOfLog([newest]);
    const condition = choose(4) === 0 ? met : undefined;
    if (choose(6) === 0) return { kind: 'delete', key, operation, condition };
    return { kind: 'write', key, operation, value: `v${this.#count}`, condition };
  }

  #newCall(client: number, write: WriteRequest | undefined, keys: readonly string[]): Call {
    const { choose, options, clock, regions } = this.#store;
    const lent = choose(8) === 0 ? must(this.#tokens[choose(options.clients)]) : BEFORE_ALL;
    const tokenSent = options.level === 'Session' ? laterOf(must(this.#tokens[client]), lent) : undefined;
    const id = `${write === undefined ? 'r' : 'w'}${this.#count++}`;
    return { id, client, region: choose(regions.length), start: clock, tokenSent, write, keys, waits: 0 };
  }

  #advance(call: Call): void {
    const { choose, options } = this.#store;
    const { write } = call;
    call.waits += 1;
    if (choose(200) < options.unknownPercent || call.waits > PATIENCE) {
      if (write !== undefined && call.entry === undefined && choose(2) === 0) this.#late.push(write);
      this.#answer(call, 'unknown');
    } else if (write === undefined) {
      if (call.reads === undefined) this.#serve(call);
      else this.#answer(call, 'ok');
    } else if (call.entry !== undefined) {
      if (!this.#store.has(call.entry)) this.#answer(call, 'unknown');
      else if (call.entry.committedAt !== undefined) this.#answer(call, 'ok');
    } else if (choose(50) === 0) {
      this.#answer(call, 'failed');
    } else {
      const entry = this.#apply(write);
      if (entry === undefined) this.#answer(call, 'failed');
      else call.entry = entry;
    }
  }

  /** The entry of this write, a new one or the one it has; undefined if its condition does not hold. */
  #apply(write: WriteRequest): SimulatedEntry | undefined {
    const { log } = this.#store.writer;
    const known = log.find(({ operation }) => operation === write.operation);
    if (known !== undefined) return known;
    const newest = log.findLast((entry) => entry.key === write.key);
    const { condition } = write;
    if (condition === 'absent' && newest?.value !== undefined) return undefined;
    if (typeof condition === 'object' && !samePosition(newest ?? BEFORE_ALL, condition)) return undefined;
    return this.#store.append(write);
  }

  #serve(call: Call): void {
    const region = must(this.#store.regions[call.region]);
    const log = this.#store.serve(region, call.tokenSent);
    if (log === undefined) return;
    const { level } = this.#store.options;
    const isTold = level !== 'Eventual' && this.#store.choose(4) > 0;
    const snapshot = isTold ? endOfLog(log) : undefined;
    const tokenReceived = level === 'Session' ? endOfLog(log) : undefined;
    const isSinceTold = this.#store.choose(2) === 0;
    call.reads = call.keys.map((key) => {
      const from = level === 'Eventual' ? must(this.#store.serve(region, undefined)) : log;
      const { value, version } = readOf(key, from);
      return {
        value,
        version: value === undefined && !isSinceTold ? undefined : version,
        snapshot,
        tokenReceived,
      };
    });
  }

  #answer(call: Call, outcome: ClientOperation['outcome']): void {
    const { id, client, start, write, entry, reads, tokenSent } = call;
    const { clock, options, writer, regions } = this.#store;
    this.#calls[client] = undefined;
    const region = write === undefined ? must(regions[call.region]).name : writer.name;
    const names = { client: `client ${client}`, session: `session ${client}`, region };
    const end = outcome === 'unknown' ? undefined : clock;
    const shared = { ...names, start, end, outcome, level: options.level, tokenSent };
    if (write === undefined) {
      const batch = call.keys.length > 1 ? id : undefined;
      for (const [index, key] of call.keys.entries()) {
        const told = outcome === 'ok' ? must(reads?.[index]) : {};
        this.operations.push({ ...shared, id: `${id}.${index}`, kind: 'read', key, batch, ...told });
        if (told.tokenReceived !== undefined) this.#learn(client, told.tokenReceived);
      }
      return;
    }
    this.#open[client] = outcome === 'unknown' ? write : undefined;
    const position = outcome === 'ok' && entry !== undefined ? endOfLog([entry]) : undefined;
    const tokenReceived =
      position === undefined || tokenSent === undefined ? undefined : laterOf(position, tokenSent);
    this.operations.push({ ...write, ...shared, id, position, tokenReceived });
    if (tokenReceived !== undefined) this.#learn(client, tokenReceived);
  }

  #learn(client: number, token: Position): void {
    if (positionOrder(token, must(this.#tokens[client])) > 0) this.#tokens[client] = token;
  }
}

function readOf(
  key: string,
  log: readonly SimulatedEntry[],
): { readonly value: string | undefined; readonly version: Position } {
  const newest = log.findLast((entry) => entry.key === key);
  return { value: newest?.value, version: newest === undefined ? BEFORE_ALL : endOfLog([newest]) };
}
