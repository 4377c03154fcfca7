/** Damage as a partition lives with it: who meets it, who is asked, who is told when it is repaired. What is said is in `repair.ts`. */
import { DamagedEntry } from '../store.ts';
import type { RegionName } from './forwarder.ts';
import type { PartitionMessage } from './messages.ts';
import type { PartitionStateMachine } from './partition.ts';
import { Repairs } from './repair.ts';

export class Damage {
  readonly #copy: PartitionStateMachine;
  readonly #repairs: Repairs;

  constructor(copy: PartitionStateMachine) {
    this.#copy = copy;
    this.#repairs = new Repairs(copy.store);
  }

  get nextAt(): number {
    return this.#repairs.nextAt;
  }

  /** Somebody met a damaged entry: everybody is asked for it. Any other error is thrown on. */
  notice(error: unknown): void {
    const { port } = this.#copy;
    const { lsn, isNew, question } = this.#repairs.noticed(error, port.now());
    if (isNew) port.event({ event: 'damaged', lsn });
    this.#copy.reign?.forwarder.doubt(lsn);
    if (question !== undefined) this.#askAll([question]);
    port.look();
  }

  wake(now: number): void {
    this.#askAll(this.#repairs.wake(now));
  }

  /** That region may not have been there when the others were asked. */
  ask(region: RegionName): void {
    for (const question of this.#repairs.questions) this.#copy.port.send(region, question);
  }

  onMessage(from: RegionName, message: Extract<PartitionMessage, { type: 'damaged' | 'repair' }>): void {
    const { port } = this.#copy;
    if (message.type === 'damaged') {
      const repair = this.#repairs.answer(message);
      if (repair !== undefined) port.send(from, repair);
    } else if (this.#repairs.take(message, port.now())) this.#repaired(message.entry.lsn);
  }

  /** Housekeeping, when nobody is in the middle of reading all of it. */
  settle(): void {
    const { store, port } = this.#copy;
    const { unreadable } = store;
    if (unreadable !== undefined && !this.#repairs.asksFor(unreadable))
      this.notice(new DamagedEntry(unreadable));
    for (const lsn of this.#repairs.settle(port.now())) this.#repaired(lsn);
  }

  #repaired(lsn: number): void {
    this.#copy.port.event({ event: 'repaired', lsn });
    this.#copy.waits.again();
    this.#copy.wantFlush();
  }

  #askAll(questions: readonly PartitionMessage[]): void {
    const { options } = this.#copy;
    for (const region of options.regions) {
      if (region !== options.region) for (const question of questions) this.#copy.port.send(region, question);
    }
  }
}
