/**
 * Kill -9 at any moment loses nothing that was durable. A process writes to several partitions of a store; it is killed, the
 * store is opened here and compared with what the plan says for the number of steps that it has taken, which must be no fewer
 * than were told durable. Then the next process goes on.
 *
 *   node build/test/engine/storage/kills.js --kills 500
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { NodeStore } from 'baton/engine';
import { type Choose, seededChoose } from 'baton/check';
import { PartitionModel } from './model.ts';
import { PARTITIONS } from './plan.ts';

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  /** The compiled writer. */
  readonly writer: string;
}

export interface KillReport {
  readonly kills: number;
  /** Steps that were told durable, in all. */
  readonly durable: number;
  /** Kills with steps on their way. */
  readonly underLoad: number;
  readonly wrong: readonly string[];
}

class Lane {
  readonly #directory: string;
  readonly #seed: number;
  readonly #writer: string;
  readonly #choose: Choose;
  readonly #models: readonly PartitionModel[];
  /** The last step of each partition that was told durable. */
  readonly #steps = new Map<string, number>();
  #onTold = (): void => {};
  durable = 0;
  underLoad = 0;
  wrong: readonly string[] = [];

  constructor(directory: string, seed: number, writer: string) {
    this.#directory = directory;
    this.#seed = seed;
    this.#writer = writer;
    this.#choose = seededChoose(seed);
    this.#models = PARTITIONS.map((name) => new PartitionModel(seed, name));
  }

  /** One life and its end. */
  async kill(): Promise<void> {
    const child = spawn(process.execPath, [this.#writer, this.#directory, String(this.#seed)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    const before = this.durable;
    const read = this.#read(child);
    if (this.#choose(8) === 0) await sleep(this.#choose(150));
    else {
      // Of the steps it is not the time that decides: a busy machine takes fewer of them.
      const enough = before + 1 + this.#choose(this.#choose(4) === 0 ? 150 : 30);
      await Promise.race([this.#told(enough), exited]);
      await sleep(this.#choose(30));
    }
    child.kill('SIGKILL');
    await Promise.all([exited, read]);
    if (child.signalCode !== 'SIGKILL') throw new Error(`the writer ended by itself: ${child.exitCode}`);
    if (this.durable > before) this.underLoad += 1;
    await this.#verify();
  }

  async #read(child: ChildProcess): Promise<void> {
    for await (const line of createInterface({ input: child.stdout! })) {
      const [name, step] = line.split(' ');
      this.#steps.set(name!, Number(step));
      this.durable += 1;
      this.#onTold();
    }
  }

  /** Until so many steps were told durable. */
  async #told(steps: number): Promise<void> {
    while (this.durable < steps)
      await new Promise<void>((resolve) => {
        this.#onTold = resolve;
      });
  }

  async #verify(): Promise<void> {
    const store = await NodeStore.open({ directory: this.#directory });
    for (const [index, name] of PARTITIONS.entries()) {
      const partition = store.partition(name);
      const { gclsn: steps } = partition.notes;
      const told = this.#steps.get(name) ?? 0;
      const model = this.#models[index]!;
      if (steps < told)
        this.wrong = [...this.wrong, `${name}: ${told} steps were durable, ${steps} are there`];
      model.advance(steps);
      this.wrong = [...this.wrong, ...model.compare(partition)];
    }
    await (this.#choose(3) === 0 ? store.close() : store.abandon());
  }
}

export async function runKills({ kills, seed, writer }: KillOptions): Promise<KillReport> {
  const directory = mkdtempSync(join(tmpdir(), 'baton-storage-kills-'));
  const lanes = [0, 1].map((index) => new Lane(join(directory, String(index)), seed + index, writer));
  let left = kills;
  const live = async (lane: Lane): Promise<void> => {
    while (left > 0 && lane.wrong.length === 0) {
      left -= 1;
      try {
        await lane.kill();
      } catch (error) {
        lane.wrong = [...lane.wrong, String(error)];
      }
    }
  };
  try {
    await Promise.all(lanes.map(live));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  const sum = (of: (lane: Lane) => number): number => lanes.reduce((total, lane) => total + of(lane), 0);
  return {
    kills: kills - left,
    durable: sum(({ durable }) => durable),
    underLoad: sum(({ underLoad }) => underLoad),
    wrong: lanes.flatMap(({ wrong }) => wrong),
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { kills: { type: 'string', default: '500' }, seed: { type: 'string', default: '1' } },
  });
  const writer = fileURLToPath(new URL('writer.js', import.meta.url));
  const report = await runKills({ kills: Number(values.kills), seed: Number(values.seed), writer });
  const { wrong, ...counts } = report;
  process.stdout.write(`${JSON.stringify(counts)}\n${wrong.slice(0, 20).join('\n')}\n`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
