import { expect, test } from 'vitest';
import { defectOf, SyncWatch } from './etcd-safety.ts';

function metrics(syncs: number, life = '1.7951e+09'): string {
  return [
    '# TYPE etcd_disk_wal_fsync_duration_seconds histogram',
    `etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"} ${syncs}`,
    `etcd_disk_wal_fsync_duration_seconds_count ${syncs}`,
    `process_start_time_seconds ${life}`,
    '',
  ].join('\n');
}

/** Looks, with writes before each that ran from the look before on. */
function looks(...seen: readonly (readonly [writes: number, text: string])[]): readonly boolean[] {
  const watch = new SyncWatch();
  return seen.map(([writes, text]) => {
    for (let at = 0; at < writes; at += 1) watch.wrote(watch.beginWrite());
    return watch.syncs(watch.beginLook(), text);
  });
}

test('a member that writes and does not sync is found out at the second look', () => {
  expect(looks([1, metrics(2)], [1, metrics(2)], [3, metrics(2)], [1, metrics(2)])).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('a member that syncs, or has nothing to sync, is well, however often it is looked at', () => {
  const quiet = Array.from({ length: 5 }, () => [0, metrics(7)] as const);
  const busy = Array.from({ length: 5 }, (_, at) => [2, metrics(7 + at)] as const);
  expect([...looks(...quiet), ...looks(...busy)]).toEqual(Array.from({ length: 10 }, () => true));
});

test('a member that was started anew is another one', () => {
  expect(looks([1, metrics(2)], [1, metrics(2)], [1, metrics(2)], [1, metrics(2, 'later')]).at(-1)).toBe(
    true,
  );
});

test('nothing is concluded from what a member does not tell', () => {
  expect(looks([1, 'nothing'], [1, 'nothing'], [1, 'nothing'])).toEqual([true, true, true]);
});

test('a write that began before the last look proves nothing: it may have been synced before that', () => {
  const watch = new SyncWatch();
  for (let look = 0; look < 5; look += 1) {
    const begun = watch.beginWrite();
    expect(watch.syncs(watch.beginLook(), metrics(2))).toBe(true);
    watch.wrote(begun);
  }
});

test('looks that overlap judge the same writes once', () => {
  const watch = new SyncWatch();
  watch.syncs(watch.beginLook(), metrics(2));
  watch.wrote(watch.beginWrite());
  const overlapping = Array.from({ length: 3 }, () => watch.beginLook());
  expect(overlapping.map((look) => watch.syncs(look, metrics(2)))).toEqual([true, true, true]);
});

test.each([
  ['3.4.20', '3.4.21 or newer'],
  ['3.5.0', '3.5.6 or newer'],
  ['3.5.5', '3.5.6 or newer'],
  ['3.4.21', undefined],
  ['3.5.6', undefined],
  ['3.6.0-rc.1', undefined],
  ['4.4.0', undefined],
])('of version %s there is said: %s', (version, what) => {
  const said = defectOf(`# TYPE\netcd_server_version{server_version="${version}"} 1\n`);
  if (what === undefined) expect(said).toBeUndefined();
  else expect(said).toContain(what);
});
