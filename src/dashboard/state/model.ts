/** Everything that the page knows, changed by events alone. It has no clock: whoever brings an event says when it came. */
import type { Hello, LocalState, NodeBeat, Role, ServerEvent } from '../api.ts';
import { Availability } from './availability.ts';
import { Fleet, type FleetSet } from './fleet.ts';
import { RecoveryLog } from './recovery.ts';
import { Timeline } from './timeline.ts';

export interface NodeInfo {
  readonly name: string;
  readonly region: string;
  readonly url: string;
  hello: Hello | undefined;
  beat: NodeBeat | undefined;
  /** When it last said anything; 0: never. */
  heardAt: number;
  /** Why its stream is broken. */
  trouble: string | undefined;
}

/** Every node speaks every second: one that is silent for so long is not there, even if its connection is. */
const SILENT_MS = 3500;
/** A little more than a second. */
const BEAT_MS = 1300;

export class Model {
  readonly nodes = new Map<string, NodeInfo>();
  readonly timeline = new Timeline();
  readonly availability = new Availability();
  readonly fleet: Fleet;
  readonly recoveries: RecoveryLog;
  cluster = '';
  local: LocalState | undefined;

  constructor() {
    this.fleet = new Fleet({
      moved: (set: FleetSet, before: number, now: number) =>
        this.recoveries.moved(set, before, now, this.#ableUntil(set, before, now)),
      raised: (set: FleetSet, now: number) => this.recoveries.raised(set, now),
      removed: (set: FleetSet) => this.recoveries.removed(set),
    });
    this.recoveries = new RecoveryLog(this.fleet.regions);
  }

  addNode(name: string, region: string, url: string): void {
    this.fleet.addNode(name, region);
    this.nodes.set(name, {
      name,
      region,
      url,
      hello: undefined,
      beat: undefined,
      heardAt: 0,
      trouble: undefined,
    });
  }

  /** The least that any node grants: all have the same tokens, and what one refuses is refused. */
  get role(): Role {
    const hellos = [...this.nodes.values()].flatMap(({ hello }) => hello ?? []);
    return hellos.length > 0 && hellos.every(({ role }) => role === 'operator') ? 'operator' : 'viewer';
  }

  get isLocal(): boolean {
    return [...this.nodes.values()].some(({ hello }) => hello?.isLocal === true);
  }

  apply(name: string, event: ServerEvent, now: number): void {
    const node = this.nodes.get(name)!;
    node.heardAt = now;
    switch (event.type) {
      case 'hello':
        this.#welcome(node, event);
        break;
      case 'sets':
        this.fleet.apply(name, event.sets, now, event.isWhole);
        break;
      case 'gone':
        this.fleet.gone(name, event.sets);
        break;
      case 'node':
        node.beat = event;
        break;
      case 'history':
        this.timeline.add(event.entries);
        this.recoveries.told(event.entries);
        break;
      case 'local':
        this.local = event;
        break;
      default:
        // A newer node may say more than this page understands.
        event satisfies never;
    }
  }

  #welcome(node: NodeInfo, hello: Hello): void {
    node.hello = hello;
    node.trouble = undefined;
    this.cluster = hello.cluster;
    this.fleet.connected(node.name);
  }

  /** A node that was not heard for longer than its beats are apart was frozen from then on, whatever it had said. */
  #ableUntil(set: FleetSet, region: number, now: number): number {
    const heardAt = this.nodes.get(set.nodes[region] ?? '')?.heardAt ?? now;
    return now - heardAt > BEAT_MS ? heardAt : now;
  }

  isSilent(node: NodeInfo, now: number): boolean {
    return this.fleet.linkOf(node.name) === 'live' && now - node.heardAt > SILENT_MS;
  }

  /** `since`: when it was last heard, which is when it was lost as far as anybody can tell. */
  lose(name: string, trouble: string, since: number): void {
    const node = this.nodes.get(name)!;
    node.trouble = trouble;
    node.beat = undefined;
    this.fleet.lost(name, since);
  }

  /** Now and then: what is noted of the present, if enough of it is known. */
  tick(now: number): void {
    if (this.fleet.isSettled && this.fleet.isOnline) this.availability.note(this.fleet.counts, now);
  }
}
