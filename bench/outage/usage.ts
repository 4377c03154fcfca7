/** What each process used: processor time and memory from /proc, and of the acceptors how many requests they answered. */
import { readFileSync } from 'node:fs';

export interface Watched {
  readonly name: string;
  readonly pid: number | undefined;
  /** Where its metrics are; for acceptors. */
  readonly metrics?: { readonly url: string; readonly token: string };
}

export interface Usage {
  readonly name: string;
  cpuSeconds: number;
  peakBytes: number;
  requests: number;
  batches: number;
}

const EVERY_MS = 1000;
/** Of /proc/PID/stat: sysconf(_SC_CLK_TCK), which is 100 on Linux. */
const TICKS_PER_SECOND = 100;

export class UsageWatch {
  readonly #watched: () => readonly Watched[];
  readonly #usages = new Map<string, Usage>();
  /** Of the life with that pid: counters start anew with each. */
  readonly #seen = new Map<number, { cpu: number; requests: number; batches: number }>();
  readonly #timer: NodeJS.Timeout;
  #looking = Promise.resolve();

  constructor(watched: () => readonly Watched[]) {
    this.#watched = watched;
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#look());
    }, EVERY_MS);
  }

  /** The processor time that each process has used so far, in seconds, by name. */
  async cpuSeconds(): Promise<Readonly<Record<string, number>>> {
    this.#looking = this.#looking.then(() => this.#look());
    await this.#looking;
    return Object.fromEntries([...this.#usages].map(([name, { cpuSeconds }]) => [name, cpuSeconds]));
  }

  /** How many requests each process has answered so far; 0 for those that are no acceptors. */
  async requests(): Promise<Readonly<Record<string, number>>> {
    this.#looking = this.#looking.then(() => this.#look());
    await this.#looking;
    return Object.fromEntries([...this.#usages].map(([name, { requests }]) => [name, requests]));
  }

  /** Looks no more. */
  end(): void {
    clearInterval(this.#timer);
  }

  async stop(): Promise<readonly Usage[]> {
    this.end();
    await this.#looking;
    await this.#look();
    return [...this.#usages.values()];
  }

  async #look(): Promise<void> {
    await Promise.all(this.#watched().map((one) => this.#lookAt(one)));
  }

  async #lookAt({ name, pid, metrics }: Watched): Promise<void> {
    const now = pid === undefined ? undefined : readProcess(pid);
    if (pid === undefined || now === undefined) return;
    const usage = this.#usageOf(name);
    const seen = this.#seen.get(pid) ?? { cpu: 0, requests: 0, batches: 0 };
    this.#seen.set(pid, seen);
    usage.cpuSeconds += now.cpu - seen.cpu;
    seen.cpu = now.cpu;
    usage.peakBytes = Math.max(usage.peakBytes, now.peakBytes);
    if (metrics === undefined) return;
    const headers = { authorization: `Bearer ${metrics.token}` };
    const text = await fetch(metrics.url, { headers, signal: AbortSignal.timeout(EVERY_MS) })
      .then((response) => response.text())
      .catch(() => undefined);
    if (text === undefined) return;
    for (const what of ['requests', 'batches'] as const) {
      const value = Number(
        new RegExp(`^baton_acceptor_${what}_total (\\S+)`, 'm').exec(text)?.[1] ?? seen[what],
      );
      usage[what] += Math.max(0, value - seen[what]);
      seen[what] = value;
    }
  }

  #usageOf(name: string): Usage {
    let usage = this.#usages.get(name);
    if (usage === undefined) {
      usage = { name, cpuSeconds: 0, peakBytes: 0, requests: 0, batches: 0 };
      this.#usages.set(name, usage);
    }
    return usage;
  }
}

function readProcess(pid: number): { cpu: number; peakBytes: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
    return {
      cpu: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
      peakBytes: Number(peak) * 1024,
    };
  } catch {
    return undefined;
  }
}
