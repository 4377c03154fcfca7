/**
 * Between the model, which changes with every event, and what is on the screen, which changes at most ten times a second. How
 * long an update takes, from the event to the finished drawing, is kept as the performance measure `baton-update`.
 */
import { createContext } from 'preact';
import { useContext, useEffect, useReducer, useRef } from 'preact/hooks';
import type { Cluster } from './net/cluster.ts';
import type { Model } from './state/model.ts';
import { Throttle } from './state/throttled.ts';

const PAUSE_MS = 100;
const MEASURE = 'baton-update';
const MEASURES_KEPT = 500;

export class Store {
  readonly model: Model;
  readonly cluster: Cluster;
  readonly #listeners = new Set<() => void>();
  #taken = 0;
  #isPending = false;
  #measures = 0;

  constructor(model: Model, cluster: (onChange: (tookMs: number) => void) => Cluster) {
    this.model = model;
    this.cluster = cluster((tookMs) => this.#changed(tookMs));
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(tookMs: number): void {
    this.#taken += tookMs;
    if (this.#isPending) return;
    this.#isPending = true;
    setTimeout(() => requestAnimationFrame(() => this.#flush()), document.hidden ? 1000 : PAUSE_MS);
    // A page in the background gets no frames; what it knows has to stay small there too.
    if (document.hidden) setTimeout(() => this.#isPending && this.#flush(), 1500);
  }

  #flush(): void {
    if (!this.#isPending) return;
    this.#isPending = false;
    const taken = this.#taken;
    this.#taken = 0;
    const began = performance.now();
    for (const listener of this.#listeners) listener();
    this.model.fleet.changed.clear();
    // Components and charts draw in microtasks that the listeners have queued; these two come after them.
    queueMicrotask(() => queueMicrotask(() => this.#measure(began, taken)));
  }

  #measure(began: number, taken: number): void {
    if ((this.#measures += 1) % MEASURES_KEPT === 0) performance.clearMeasures(MEASURE);
    performance.measure(MEASURE, { start: began - taken, duration: performance.now() - began + taken });
  }
}

export const StoreContext = createContext<Store | undefined>(undefined);

export function useStore(): Store {
  return useContext(StoreContext)!;
}

/** Draws the component again when what it looks at has become something else. */
export function useSeen<T extends string | number | boolean | undefined>(look: (model: Model) => T): T {
  const store = useStore();
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const looking = useRef(look);
  const seen = useRef<T | undefined>(undefined);
  looking.current = look;
  seen.current = look(store.model);
  useEffect(
    () =>
      store.subscribe(() => {
        if (looking.current(store.model) !== seen.current) draw(undefined);
      }),
    [store],
  );
  return seen.current;
}

/** With every flush. */
export function useEvery(): Model {
  const store = useStore();
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => store.subscribe(() => draw(undefined)), [store]);
  return store.model;
}

/** For what draws by itself. */
export function useFlush(listener: () => void): void {
  const store = useStore();
  const current = useRef(listener);
  current.current = listener;
  useEffect(() => store.subscribe(() => current.current()), [store]);
}

/** For expensive values: see `state/throttled.ts`. One that is stale is drawn again when it may be computed. */
export function useRarely<T>(compute: () => T, version: number, choice = ''): T {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const throttle = useRef<Throttle<T> | undefined>(undefined);
  throttle.current ??= new Throttle<T>();
  const { value, staleForMs } = throttle.current.read(compute, version, choice, performance.now());
  useEffect(() => {
    if (staleForMs === undefined) return undefined;
    const timer = setTimeout(() => draw(undefined), staleForMs);
    return () => clearTimeout(timer);
  });
  return value;
}
