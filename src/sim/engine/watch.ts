/** What is watched while a run goes on: who may write, what is undone, why the write region changes. */
import type { ConsistencyLevel, Position } from '../../check/index.ts';
import { formatPosition } from '../../check/index.ts';
import type { PartitionEvent } from '../../engine/index.ts';
import type { AgentEvent, HistoryEntry } from '../../failover/index.ts';
import type { World } from '../world.ts';
import type { Region } from './region.ts';

export class Watch {
  readonly alarms: string[] = [];
  readonly twoWriters: string[] = [];
  readonly undone: string[] = [];
  readonly #world: World;
  readonly #level: ConsistencyLevel;
  readonly #regions: () => readonly Region[];
  readonly #count: (what: string, times?: number) => void;
  readonly #changes = new Set<string>();

  constructor(
    world: World,
    level: ConsistencyLevel,
    regions: () => readonly Region[],
    count: (what: string, times?: number) => void,
  ) {
    this.#world = world;
    this.#level = level;
    this.#regions = regions;
    this.#count = count;
  }

  /** How often the write region changed, whatever the reason. */
  get failovers(): number {
    return this.#changes.size;
  }

  /** A copy was told that it may write. Nobody else may be at this moment. */
  onMayWrite(name: string, partitionSet: string): void {
    const other = this.#regions().find((region) => region.name !== name && region.mayWrite(partitionSet));
    if (other === undefined || this.twoWriters.length > 20) return;
    this.twoWriters.push(
      `${partitionSet}: ${name} and ${other.name} may both write at ${this.#world.now.toFixed(1)} ms`,
    );
  }

  onEngineEvent(name: string, partitionSet: string, event: PartitionEvent): void {
    this.#count(`engine: ${event.event}`);
    if (event.event !== 'undone') return;
    this.#count('entries undone', event.count);
    if (!event.committed || this.#level !== 'Strong') return;
    this.undone.push(
      `${partitionSet}: ${name} undid ${event.count} entries behind ${event.after} at ${this.#world.now.toFixed(1)} ms, and knew of some that they were globally committed`,
    );
  }

  /** A feed had shown what is undone now: at levels where the commit set decides who is elected, that cannot be. */
  onFeedUndone(partitionSet: string, at: Position): void {
    this.#count('feed undone');
    if (this.#level === 'Strong' || this.#level === 'BoundedStaleness')
      this.undone.push(`${partitionSet}: a feed had shown up to ${formatPosition(at)}, which was undone`);
  }

  onAgentEvent(partitionSet: string, event: AgentEvent): void {
    if (event.event !== 'state') {
      this.#count(`agent: ${event.event}`);
      return;
    }
    for (const entry of event.state.history) this.#remember(partitionSet, entry);
  }

  #remember(partitionSet: string, { what, why, to }: HistoryEntry): void {
    if (what !== 'elected' && what !== 'switched') return;
    const name = `${partitionSet} ${to}`;
    if (this.#changes.has(name)) return;
    this.#changes.add(name);
    this.#count(`failover: ${what === 'switched' ? `planned, ${why}` : why}`);
  }
}
