/**
 * Real agents over real engines, in virtual time, under load: somebody writes higher and higher numbers to one document, and in every
 * region somebody reads it strongly. Whatever operators decide meanwhile about leases and levels, a strong read that began after a
 * write was acknowledged, or shown by another strong read, shows that write or a later one, unless an election at a weaker level has
 * lost it.
 */
import { epkOf, nodeJson, type ReadLevel } from 'baton/engine';
import { type Configuration, type FailoverState, type IntentBody, needsLeaseSet } from 'baton/failover';
import { HostFleet, PARTITION_SET } from '../failover/host-fleet.ts';
import { EngineSet } from './engine-set.ts';

export const REGIONS = ['a', 'b', 'c'] as const;
const KEY = { epk: epkOf(['k']), id: 'x' };
const WRITE_EVERY_MS = 25;
const READ_EVERY_MS = 20;
const LINK_MS = 8;
const TIMEOUT_MS = 400;

export class RightsScene {
  readonly fleet: HostFleet;
  readonly set: EngineSet;
  /** Strong reads that showed less than had been acknowledged when they began. */
  readonly stale: string[] = [];
  /** Strong reads that were answered, by region, since the last look. */
  readonly shown = new Map<string, number>();
  /** The highest number that was acknowledged or shown strongly, and may not be lost. */
  acknowledged = 0;
  #written = 0;
  #wishes = 0;
  #gcn = 1;
  #isOver = false;

  constructor(changes: Partial<Configuration>) {
    this.fleet = new HostFleet(REGIONS, changes);
    this.set = new EngineSet({
      regions: REGIONS,
      host: this.fleet.time,
      delayMs: LINK_MS,
      consistency: { level: changes.consistency ?? 'Strong' },
    });
  }

  static async of(changes: Partial<Configuration> = {}): Promise<RightsScene> {
    const scene = new RightsScene(changes);
    for (const region of REGIONS) await scene.fleet.start(region, scene.set.partition(region));
    await scene.fleet.untilWritesAt('a', 90_000);
    scene.#write();
    for (const region of REGIONS) scene.#read(region);
    return scene;
  }

  /** The newest state that any region knows. */
  get state(): FailoverState {
    const known = REGIONS.flatMap((region) => this.stateAt(region) ?? []);
    return known.reduce((newest, state) => (isNewer(state, newest) ? state : newest));
  }

  stateAt(region: string): FailoverState | undefined {
    return this.fleet.processes.get(region)?.host.agentOf(PARTITION_SET)?.state;
  }

  get level(): ReadLevel {
    return this.state.configuration.consistency;
  }

  async pass(ms: number): Promise<void> {
    await this.fleet.pass(ms);
  }

  async until(holds: () => boolean, what: string, withinMs = 120_000): Promise<void> {
    const end = this.fleet.time.now() + withinMs;
    while (!holds()) {
      if (this.fleet.time.now() > end) throw new Error(`it did not come to this: ${what}`);
      await this.pass(20);
    }
  }

  /** What an operator decides, through that region. Whether it was taken. */
  async decide(intent: IntentBody, through = 'a'): Promise<boolean> {
    const agent = this.fleet.process(through).host.agentOf(PARTITION_SET)!;
    this.#wishes += 1;
    const posted = agent.post(intent, { id: `wish ${this.#wishes}`, who: 'ops' });
    return this.fleet.during(posted.then(() => true).catch(() => false));
  }

  /** It hears nothing of the others and of the register, and nobody hears it; its clients are there. */
  isolate(region: string): void {
    this.fleet.cutOff.add(region);
    for (const other of REGIONS) if (other !== region) this.set.connect(region, other, false);
  }

  rejoin(region: string): void {
    this.fleet.cutOff.delete(region);
    for (const other of REGIONS) if (other !== region) this.set.connect(region, other, true);
  }

  /** The process dies, and another one begins on its disk. */
  async restart(region: string): Promise<void> {
    const process = this.fleet.process(region);
    this.fleet.processes.delete(region);
    this.set.crash(region);
    await this.fleet.during(process.end());
    this.set.start(region);
    await this.fleet.start(region, this.set.partition(region));
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.pass(TIMEOUT_MS + 100);
    await this.fleet.end();
    this.set.close();
  }

  #write(): void {
    if (this.#isOver) return;
    this.fleet.time.after(WRITE_EVERY_MS, () => this.#write());
    const writer = REGIONS.find(
      (region) => this.fleet.processes.get(region)?.host.agentOf(PARTITION_SET)?.mayWrite() === true,
    );
    this.#forgetLosses();
    if (writer === undefined) return;
    this.#written += 1;
    void this.#put(writer, this.#written);
  }

  async #put(writer: string, number: number): Promise<void> {
    const gcn = this.#gcn;
    const isKnown = await this.set.put(writer, KEY.id, String(number)).then(
      () => true,
      () => false,
    );
    if (isKnown && gcn === this.#gcn) this.acknowledged = Math.max(this.acknowledged, number);
  }

  /** An election at a weaker level may lose what was acknowledged; a switch, and one at Strong, may not. */
  #forgetLosses(): void {
    const { gcn, raise, configuration } = this.state;
    if (gcn === this.#gcn) return;
    this.#gcn = gcn;
    if (raise.cause !== 'switch' && !needsLeaseSet(configuration.consistency)) this.acknowledged = 0;
  }

  #read(region: string): void {
    if (this.#isOver) return;
    this.fleet.time.after(READ_EVERY_MS, () => this.#read(region));
    if (!this.set.isUp(region) || this.set.partition(region).core === undefined) return;
    void this.#look(region);
  }

  async #look(region: string): Promise<void> {
    const [least, gcn] = [this.acknowledged, this.#gcn];
    const startedAt = this.fleet.time.now();
    const answer = await this.set.partition(region).read({ key: KEY, level: 'Strong' }, TIMEOUT_MS);
    if (answer.outcome !== 'done') return;
    const body = answer.version?.body;
    const value = body === undefined ? 0 : Number((nodeJson.parse(body) as { value: string }).value);
    this.shown.set(region, (this.shown.get(region) ?? 0) + 1);
    // What an election has lost meanwhile is not missing.
    if (value < Math.min(least, this.acknowledged))
      this.stale.push(`${region} showed ${value} at ${startedAt}, after ${least} was acknowledged`);
    if (gcn === this.#gcn) this.acknowledged = Math.max(this.acknowledged, value);
  }
}

function isNewer(a: FailoverState, b: FailoverState): boolean {
  if (a.gcn !== b.gcn) return a.gcn > b.gcn;
  if (a.step !== b.step) return a.step > b.step;
  return a.configuration.version > b.configuration.version;
}
