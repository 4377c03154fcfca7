/**
 * Whether an etcd member puts its log on the disk before it answers. A cluster of one member did not before 3.4.21 and 3.5.5 (etcd#14370), and
 * 3.5.0 to 3.5.5 could lose entries in a crash (etcd#13766, etcd#14685): those versions are refused. `--unsafe-no-fsync` takes that away, and no answer, status or setting
 * tells of it. But a member counts how often it has synced its log, in what it tells monitoring (`/metrics`), and every write needs a sync.
 * So a member that carried writes out, and has not synced since before they began, does not.
 *
 * A member may answer while its own sync is still under way, because most of the others have synced. One look is no proof then; two in a
 * row are, as they are seconds apart. Where `/metrics` cannot be had, nothing is concluded.
 */
const SYNCS = /^etcd_disk_wal_fsync_duration_seconds_count (\d+)$/m;
const STARTED = /^process_start_time_seconds (\S+)$/m;

const VERSION = /^etcd_server_version\{server_version="(\d+)\.(\d+)\.(\d+)[^"]*"\} 1$/m;
/** By minor version of 3: the first patch without the known defects. */
const FIRST_SOUND: Readonly<Record<number, number>> = { 4: 21, 5: 6 };

const LOOKS_IN_VAIN = 2;

interface Seen {
  readonly life: string;
  readonly syncs: number;
}

/** What is begun after which look; how it ended is told later. */
export interface Begun {
  readonly look: number;
}

/** A look that began: what was written until then. Writes that are answered from here on are none of it. */
export interface BegunLook extends Begun {
  readonly writes: number;
}

/** Of one member. */
export class SyncWatch {
  #seen: Seen | undefined;
  #look = 0;
  /** Writes that began after the last look, and were answered. */
  #writes = 0;
  #inVain = 0;

  /** The last that it told. */
  get life(): string | undefined {
    return this.#seen?.life;
  }

  beginWrite(): Begun {
    return { look: this.#look };
  }

  wrote({ look }: Begun): void {
    if (look === this.#look) this.#writes += 1;
  }

  beginLook(): BegunLook {
    return { look: this.#look, writes: this.#writes };
  }

  /** What `/metrics` said. False: this member does not sync. */
  syncs({ look, writes }: BegunLook, metrics: string): boolean {
    const seen = seenIn(metrics);
    // Another look was faster: it has judged these writes.
    if (seen !== undefined && look === this.#look) this.#judge(seen, writes);
    return this.#inVain < LOOKS_IN_VAIN;
  }

  #judge(seen: Seen, writes: number): void {
    const before = this.#seen;
    this.#seen = seen;
    this.#look += 1;
    this.#writes = 0;
    if (before?.life !== seen.life || seen.syncs > before.syncs) this.#inVain = 0;
    else if (writes > 0) this.#inVain += 1;
  }
}

/** A clause about the version that `/metrics` tell, if it is known to forget. */
export function defectOf(metrics: string): string | undefined {
  const [version = '', ...numbers] = VERSION.exec(metrics) ?? [];
  const [major = 0, minor = 0, patch = 0] = numbers.map(Number);
  const sound = FIRST_SOUND[minor];
  if (version === '' || major !== 3 || sound === undefined || patch >= sound) return undefined;
  return `is etcd 3.${minor}.${patch}, which may lose what it answered in a crash: use 3.${minor}.${sound} or newer`;
}

function seenIn(metrics: string): Seen | undefined {
  const [, syncs] = SYNCS.exec(metrics) ?? [];
  const [, life] = STARTED.exec(metrics) ?? [];
  return syncs === undefined || life === undefined ? undefined : { life, syncs: Number(syncs) };
}
