import { expect, test } from 'vitest';
import { type Circumstances, complaintAbout } from './postgres-safety.ts';
import { PostgresTable } from './postgres-statements.ts';

const WELL: Circumstances = {
  life: '1',
  release: 170_000,
  standby: false,
  fsync: 'on',
  pages: 'on',
  zeroes: 'off',
  ignores: 'off',
  encoding: 'UTF8',
  kind: 'r',
  persistence: 'p',
  filtered: false,
};

function complaint(more: Partial<Circumstances>): ReturnType<typeof complaintAbout> {
  return complaintAbout({ ...WELL, ...more }, new PostgresTable('baton'));
}

test.each<[Partial<Circumstances>, string]>([
  [{ fsync: 'off' }, 'set fsync = on'],
  [{ pages: 'off' }, 'set full_page_writes = on'],
  [{ zeroes: 'on' }, 'set zero_damaged_pages = off'],
  [{ ignores: 'on' }, 'set ignore_invalid_pages = off'],
  [{ persistence: 'u' }, 'SET LOGGED'],
])('a server with %o may forget what it answers', (more, wayOut) => {
  expect(complaint(more)).toEqual({ what: expect.stringContaining(wayOut), forgets: true });
});

test.each<[Partial<Circumstances>, string]>([
  [{ release: 110_000 }, 'older than PostgreSQL 12'],
  [{ standby: true }, 'name the primary server'],
  [{ encoding: 'LATIN1' }, 'use one with UTF8'],
  [{ kind: 'p' }, 'something else than a plain table'],
  [{ kind: 'v' }, 'something else than a plain table'],
  [{ filtered: true }, 'DISABLE ROW LEVEL SECURITY'],
])('a server with %o is not used, and has forgotten nothing', (more, wayOut) => {
  expect(complaint(more)).toEqual({ what: expect.stringContaining(wayOut), forgets: false });
});

test.each<Partial<Circumstances>>([{}, { ignores: null }, { kind: null, persistence: null, filtered: null }])(
  'a server with %o is well',
  (more) => {
    expect(complaint(more)).toBeUndefined();
  },
);
