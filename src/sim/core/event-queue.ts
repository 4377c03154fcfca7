/**
 * The heart of the simulator: events in virtual time, on typed arrays. A four-way heap of (time, order of insertion); the
 * order of insertion decides between events of the same moment, so that a run is the same every time. What an event means
 * is the caller's: it carries a kind, two small numbers and two objects.
 */
export class EventQueue {
  #times = new Float64Array(1024);
  #orders = new Float64Array(1024);
  #slots = new Int32Array(1024);
  #size = 0;
  #inserted = 0;

  #kinds = new Int32Array(1024);
  #firsts = new Int32Array(1024);
  #seconds = new Int32Array(1024);
  readonly #objects: unknown[] = [];
  readonly #others: unknown[] = [];
  #free: number[] = [];
  #used = 0;

  /** Of the event taken last. */
  now = 0;
  kind = 0;
  first = 0;
  second = 0;
  object: unknown = undefined;
  other: unknown = undefined;

  get size(): number {
    return this.#size;
  }

  get inserted(): number {
    return this.#inserted;
  }

  /** When the next event is due; infinite when there is none. */
  get nextTime(): number {
    return this.#size === 0 ? Infinity : this.#times[0]!;
  }

  push(time: number, kind: number, first: number, second: number, object?: unknown, other?: unknown): void {
    const slot = this.#free.pop() ?? this.#newSlot();
    this.#kinds[slot] = kind;
    this.#firsts[slot] = first;
    this.#seconds[slot] = second;
    this.#objects[slot] = object;
    this.#others[slot] = other;
    if (this.#size === this.#times.length) this.#growHeap();
    this.#inserted += 1;
    this.#siftUp(time, this.#inserted, slot);
  }

  /** Moves on to the next event; false when there is none. */
  pop(): boolean {
    if (this.#size === 0) return false;
    const slot = this.#slots[0]!;
    this.now = this.#times[0]!;
    this.kind = this.#kinds[slot]!;
    this.first = this.#firsts[slot]!;
    this.second = this.#seconds[slot]!;
    this.object = this.#objects[slot];
    this.other = this.#others[slot];
    this.#objects[slot] = undefined;
    this.#others[slot] = undefined;
    this.#free.push(slot);
    this.#size -= 1;
    if (this.#size > 0) this.#siftDown();
    return true;
  }

  #newSlot(): number {
    if (this.#used === this.#kinds.length) {
      this.#kinds = grown(this.#kinds);
      this.#firsts = grown(this.#firsts);
      this.#seconds = grown(this.#seconds);
    }
    this.#used += 1;
    return this.#used - 1;
  }

  #growHeap(): void {
    this.#slots = grown(this.#slots);
    const times = new Float64Array(this.#times.length * 2);
    times.set(this.#times);
    this.#times = times;
    const orders = new Float64Array(this.#orders.length * 2);
    orders.set(this.#orders);
    this.#orders = orders;
  }

  #siftUp(time: number, order: number, slot: number): void {
    const times = this.#times;
    let at = this.#size;
    this.#size += 1;
    // A new event is the latest of its moment, so only a strictly later parent makes way.
    while (at > 0) {
      const parent = (at - 1) >> 2;
      if (times[parent]! <= time) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#place(at, time, order, slot);
  }

  /** The last event takes the place of the first and sinks to where it belongs. */
  #siftDown(): void {
    const size = this.#size;
    const times = this.#times;
    const orders = this.#orders;
    const time = times[size]!;
    const order = orders[size]!;
    let at = 0;
    for (;;) {
      const child = 4 * at + 1;
      if (child >= size) break;
      let least = child;
      const end = Math.min(child + 4, size);
      for (let other = child + 1; other < end; other += 1) {
        const earlier = times[other]! < times[least]!;
        if (earlier || (times[other] === times[least] && orders[other]! < orders[least]!)) least = other;
      }
      if (times[least]! > time || (times[least] === time && orders[least]! > order)) break;
      this.#move(least, at);
      at = least;
    }
    this.#place(at, time, order, this.#slots[size]!);
  }

  #move(from: number, to: number): void {
    this.#times[to] = this.#times[from]!;
    this.#orders[to] = this.#orders[from]!;
    this.#slots[to] = this.#slots[from]!;
  }

  #place(at: number, time: number, order: number, slot: number): void {
    this.#times[at] = time;
    this.#orders[at] = order;
    this.#slots[at] = slot;
  }
}

function grown(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
