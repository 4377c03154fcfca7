/** A file system of a few megabytes that really becomes full. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { notRun, type Skippable } from './not-run.ts';

export class SmallDisk {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Taken away with the test. */
  static mount(context: Skippable, megabytes: number): SmallDisk {
    const path = mkdtempSync(join(tmpdir(), 'baton-small-disk-'));
    const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path];
    if (spawnSync('mount', options).status !== 0) {
      rmSync(path, { recursive: true });
      notRun(context, {
        what: 'no file system can be mounted here',
        how: 'run as root, outside of a container',
      });
    }
    onTestFinished(() => {
      // Whatever the test has left open there.
      spawnSync('umount', ['-l', path]);
      rmSync(path, { recursive: true, force: true });
    });
    return new SmallDisk(path);
  }

  /** Takes all the room but so many bytes. */
  fill(butBytes = 0): void {
    const { bavail, bsize } = statfsSync(this.path);
    writeFileSync(join(this.path, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - butBytes)));
  }

  free(): void {
    rmSync(join(this.path, 'filler'), { force: true });
  }
}
