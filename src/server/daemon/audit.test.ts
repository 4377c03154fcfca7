import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type AuditedAction, type AuditOptions, AuditTrail } from './audit.ts';

let directory: string;
let file: string;
const warned: string[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-audit-'));
  file = join(directory, 'audit.jsonl');
  warned.length = 0;
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function trail(options: AuditOptions = {}): AuditTrail {
  return new AuditTrail({ file, warn: (sentence) => void warned.push(sentence), ...options });
}

function action(target: string): AuditedAction {
  return {
    at: '2030-01-01T00:00:00.000Z',
    role: 'operator',
    who: 'me',
    from: '127.0.0.1',
    action: 'intent',
    target,
    detail: { intent: { kind: 'pause' } },
  };
}

function seenBy(audit: AuditTrail): (string | null)[][] {
  return audit.page({ limit: 1000 }).entries.map(({ target, outcome, code }) => [target, outcome, code]);
}

test('an action is on disk before it is carried out, and its end afterwards', async () => {
  const audit = trail();
  const end = await audit.begin(action('a'));
  expect(readFileSync(file, 'utf8')).toContain('"begun"');
  expect(seenBy(audit)).toEqual([['a', 'begun', null]]);
  expect(seenBy(trail())).toEqual([['a', 'begun', null]]);
  end({ outcome: 'refused', code: 'INTENT_REFUSED' });
  await audit.close();
  expect(seenBy(audit)).toEqual([['a', 'refused', 'INTENT_REFUSED']]);
  expect(seenBy(trail())).toEqual([['a', 'refused', 'INTENT_REFUSED']]);
});

test('numbers go on after a restart, and pages lead back', async () => {
  const first = trail();
  for (const target of ['a', 'b', 'c']) (await first.begin(action(target)))({ outcome: 'done', code: null });
  await first.close();
  const second = trail();
  const slow = await second.begin(action('d'));
  (await second.begin(action('e')))({ outcome: 'done', code: null });
  slow({ outcome: 'failed', code: 'INTERNAL' });
  const last = second.page({ limit: 2 });
  expect(last.entries.map(({ n, target }) => [n, target])).toEqual([
    [4, 'd'],
    [5, 'e'],
  ]);
  const rest = second.page({ limit: 10, before: last.next });
  expect(rest.entries.map(({ target }) => target)).toEqual(['a', 'b', 'c']);
  expect(rest.next).toBeUndefined();
  await second.close();
});

test('does not grow without end, and what ends later is not told twice', async () => {
  const maxBytes = 2000;
  const audit = trail({ maxBytes });
  const slow = await audit.begin(action('slow'));
  for (let at = 0; at < 5; at += 1) (await audit.begin(action(`x${at}`)))({ outcome: 'done', code: null });
  slow({ outcome: 'done', code: null });
  expect(seenBy(audit).filter(([target]) => target === 'slow')).toEqual([['slow', 'done', null]]);
  for (let at = 0; at < 100; at += 1) (await audit.begin(action(`y${at}`)))({ outcome: 'done', code: null });
  await audit.close();
  expect(seenBy(audit).at(-1)).toEqual(['y99', 'done', null]);
  expect(seenBy(audit).length).toBeLessThan(40);
  for (const path of [file, `${file}.old`]) expect(statSync(path).size).toBeLessThanOrEqual(maxBytes);
  expect(seenBy(trail({ maxBytes }))).toEqual(seenBy(audit));
});

test('passes over what is damaged, and says when it cannot be written, and goes on', async () => {
  await trail().begin(action('a'));
  appendFileSync(file, 'no json\n{"n":7}\n');
  expect(seenBy(trail())).toEqual([['a', 'begun', null]]);
  const gone = trail({ file: join(directory, 'none', 'audit.jsonl') });
  (await gone.begin(action('b')))({ outcome: 'done', code: null });
  await gone.close();
  expect(warned[0]).toMatch(/^The audit trail in .*audit\.jsonl cannot be written: ENOENT\.$/);
  expect(seenBy(gone)).toEqual([['b', 'done', null]]);
});
