import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Disk } from './disk.ts';
import { Random } from './random.ts';

type Step =
  | { readonly do: 'write'; readonly key: string; readonly text: string | undefined }
  | { readonly do: 'begin' | 'end' | 'crash' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('write' as const),
    key: fc.constantFrom('a', 'b', 'c'),
    text: fc.option(fc.constantFrom('1', '2', '3', '4'), { nil: undefined }),
  }),
  fc.record({ do: fc.constantFrom('begin' as const, 'end' as const, 'crash' as const) }),
);

function contentOf(disk: Disk): string {
  return JSON.stringify(disk.keys().map((key) => [key, disk.read(key)]));
}

/** What the writes alone would leave behind. */
function replay(writes: readonly (readonly [string, string | undefined])[]): string {
  const disk = new Disk();
  for (const [key, text] of writes) disk.write(key, text);
  return contentOf(disk);
}

describe('a disk', () => {
  test('keeps over a crash exactly a first part of the writes, with all that were synced', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer(), (steps, seed) => {
        const random = new Random(seed);
        const disk = new Disk();
        let writes: (readonly [string, string | undefined])[] = [];
        let begun: { readonly mark: number; readonly covers: number } | undefined;
        let synced = 0;
        for (const action of steps) {
          if (action.do === 'write') {
            disk.write(action.key, action.text);
            writes.push([action.key, action.text]);
            expect(disk.read(action.key)).toBe(action.text);
          } else if (action.do === 'begin') {
            begun = { mark: disk.beginSync(), covers: writes.length };
          } else if (action.do === 'end' && begun !== undefined) {
            disk.endSync(begun.mark);
            synced = Math.max(synced, begun.covers);
            begun = undefined;
          } else if (action.do === 'crash') {
            const lost = disk.crash(random);
            const kept = writes.length - lost;
            expect(kept).toBeGreaterThanOrEqual(synced);
            writes = writes.slice(0, kept);
            synced = kept;
            begun = undefined;
            expect(contentOf(disk)).toBe(replay(writes));
            expect(disk.unsynced).toBe(0);
          }
        }
      }),
    );
  });

  test('tells of each write in the moment in which it becomes durable, in order', () => {
    const durable: string[] = [];
    const disk = new Disk((key, text) => durable.push(`${key}=${text}`));
    disk.write('a', '1');
    disk.write('b', '2');
    const mark = disk.beginSync();
    disk.write('a', '3');
    expect(durable).toEqual([]);
    disk.endSync(mark);
    expect(durable).toEqual(['a=1', 'b=2']);
    expect(disk.unsynced).toBe(1);
  });

  test('can be replaced by a copy or by nothing, and a sync that was under way then covers nothing', () => {
    const disk = new Disk();
    disk.write('a', '1');
    disk.endSync(disk.beginSync());
    const copy = disk.copy();
    disk.write('a', '2');
    const mark = disk.beginSync();
    disk.replace(copy);
    disk.endSync(mark);
    expect(contentOf(disk)).toBe('[["a","1"]]');
    disk.replace();
    expect(disk.keys()).toEqual([]);
  });

  test('that went bad in one place stays so', () => {
    const disk = new Disk();
    disk.write('a', '1');
    disk.garble('a', '?');
    disk.endSync(disk.beginSync());
    disk.crash(new Random(1));
    expect(disk.read('a')).toBe('?');
  });
});
