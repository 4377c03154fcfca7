/**
 * Everybody who listens to the events of a node. There is one round of looking for all of them, four times a second, and none
 * while nobody listens. No listener has a queue: each remembers how far it was told, by the number of the round and by that of
 * the last change of the history, and one whose connection is full is passed over until it has drained; then it gets, merged,
 * what is the case then. One that takes nothing for a minute is hung up on; its page comes back and begins anew.
 */
import type { HttpSink, HttpRole } from '../../http/index.ts';
import { HttpError } from '../../http/index.ts';
import { type EventData, type EventName, eventText, type LocalState } from './schemas.ts';
import { type SetSource, SetTable, type ToldUpTo } from './set-table.ts';

type HistoryEvent = EventData<'history'>['entries'][number];

export interface EventSources {
  readonly sets: SetSource;
  /** What whoever comes is told first. */
  readonly hello: () => Omit<EventData<'hello'>, 'at' | 'role'>;
  readonly node: () => Promise<Omit<EventData<'node'>, 'at'>>;
  /** The last changes with a higher number, the oldest first. */
  readonly history: (after: number, limit: number) => readonly HistoryEvent[];
  /** Of a local cluster; undefined: whoever runs it does not answer. */
  readonly local?: (() => Promise<LocalState | undefined>) | undefined;
}

export interface EventHubOptions {
  readonly sources: EventSources;
  readonly now: () => number;
  /** Repeats until the returned function is called. */
  readonly every: (ms: number, what: () => void) => () => void;
  readonly onError?: (error: unknown) => void;
  readonly maxStreams?: number;
}

interface Listener {
  readonly sink: HttpSink;
  told: ToldUpTo;
  toldHistory: number;
  /** The text of the last `local`. */
  toldLocal: string;
  /** In which round it last took something. */
  tookRound: number;
}

export const ROUND_MS = 250;
const ROUNDS_PER_SECOND = 1000 / ROUND_MS;
const ALIVE_ROUNDS = 10 * ROUNDS_PER_SECOND;
const STUCK_ROUNDS = 60 * ROUNDS_PER_SECOND;
const MAX_STREAMS = 64;
/** Changes of the history that a new listener gets. */
const FIRST_HISTORY = 200;
/** Changes in one round: as many as there can be partition-sets, because all of them may fail over at once. */
const MOST_HISTORY = 10_000;

export class EventHub {
  readonly #options: EventHubOptions;
  readonly #table: SetTable;
  readonly #listeners = new Set<Listener>();
  #stop: (() => void) | undefined;
  #isAsking = false;
  #isClosed = false;
  #node: Omit<EventData<'node'>, 'at'> | undefined;
  #local: LocalState | undefined;

  constructor(options: EventHubOptions) {
    this.#options = options;
    this.#table = new SetTable(options.sources.sets, 2 * STUCK_ROUNDS);
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** Throws TOO_MANY_STREAMS. */
  demandRoom(): void {
    const { maxStreams = MAX_STREAMS } = this.#options;
    if (this.#listeners.size < maxStreams && !this.#isClosed) return;
    throw new HttpError(
      503,
      'TOO_MANY_STREAMS',
      `This node already serves ${maxStreams} event streams; close one, or use another node.`,
    );
  }

  add(sink: HttpSink, role: HttpRole): void {
    if (this.#isClosed || this.#listeners.size >= (this.#options.maxStreams ?? MAX_STREAMS)) {
      sink.end();
      return;
    }
    // Looked at anew when nobody listened until now.
    if (this.#listeners.size === 0) this.#table.look();
    const { round } = this.#table;
    const told = { round, progress: round };
    const listener: Listener = { sink, told, toldHistory: 0, toldLocal: '', tookRound: round };
    this.#listeners.add(listener);
    sink.onClose(() => this.#remove(listener));
    this.#tell(listener, 'hello', { ...this.#options.sources.hello(), role });
    this.#tell(listener, 'sets', { isWhole: true, sets: this.#table.rows() });
    this.#tellHistory(listener, true);
    this.#stop ??= this.#options.every(ROUND_MS, () => this.round());
    if (this.#node !== undefined) this.#tell(listener, 'node', this.#node);
    this.#tellLocal(listener);
    void this.#ask();
  }

  /** For whoever keeps the time. */
  round(): void {
    this.#table.look();
    const { round } = this.#table;
    /** By what they were told up to: most of them up to the same. */
    const texts = new Map<string, string>();
    for (const listener of this.#listeners) this.#serve(listener, texts);
    if (round % ROUNDS_PER_SECOND === 0) void this.#ask();
  }

  /** Everybody has to come again, and show a token again. */
  hangUp(): void {
    for (const { sink } of this.#listeners) sink.end();
  }

  close(): void {
    this.#isClosed = true;
    this.hangUp();
    this.#stop?.();
    this.#stop = undefined;
  }

  #serve(listener: Listener, texts: Map<string, string>): void {
    const { round } = this.#table;
    const { sink, told } = listener;
    if (sink.isFull) {
      if (round - listener.tookRound > STUCK_ROUNDS) sink.end();
      return;
    }
    listener.tookRound = round;
    if (this.#table.reachesBackTo(told.round)) {
      const key = `${told.round} ${told.progress}`;
      const text = texts.get(key) ?? this.#changesSince(told);
      texts.set(key, text);
      if (text !== '') sink.write(text);
      listener.told = this.#table.toldAfter(told);
    } else {
      this.#tell(listener, 'sets', { isWhole: true, sets: this.#table.rows() });
      listener.told = { round, progress: round };
    }
    this.#tellHistory(listener, false);
    if (round % ALIVE_ROUNDS === 0) sink.write(': alive\n\n');
  }

  #changesSince(told: ToldUpTo): string {
    const at = this.#options.now();
    const gone = this.#table.goneSince(told.round);
    const sets = this.#table.changesSince(told);
    return (
      (gone.length === 0 ? '' : eventText('gone', { at, sets: gone })) +
      (sets.length === 0 ? '' : eventText('sets', { at, isWhole: false, sets }))
    );
  }

  #tellHistory(listener: Listener, isFirst: boolean): void {
    const limit = isFirst ? FIRST_HISTORY : MOST_HISTORY;
    const entries = this.#options.sources.history(listener.toldHistory, limit);
    if (entries.length === 0 && !isFirst) return;
    listener.toldHistory = entries.at(-1)?.n ?? listener.toldHistory;
    this.#tell(listener, 'history', { entries });
  }

  #tellLocal(listener: Listener): void {
    if (this.#local === undefined) return;
    const text = JSON.stringify(this.#local);
    if (text === listener.toldLocal) return;
    listener.toldLocal = text;
    this.#tell(listener, 'local', this.#local);
  }

  /** What takes a while to find out: how the node is, what whoever runs the cluster says. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const { node, local } = this.#options.sources;
    try {
      [this.#node, this.#local] = await Promise.all([node(), local?.()]);
      for (const listener of this.#listeners) {
        if (listener.sink.isFull) continue;
        this.#tell(listener, 'node', this.#node);
        this.#tellLocal(listener);
      }
    } catch (error) {
      this.#options.onError?.(error);
    } finally {
      this.#isAsking = false;
    }
  }

  #tell<Name extends EventName>({ sink }: Listener, name: Name, data: Omit<EventData<Name>, 'at'>): void {
    sink.write(eventText(name, { at: this.#options.now(), ...data } as EventData<Name>));
  }

  #remove(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
    this.#node = undefined;
    this.#local = undefined;
  }
}
