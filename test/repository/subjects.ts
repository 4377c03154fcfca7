/** Subjects of commits: whoever reads the history sees all of each in one line. Where there is no history there is nothing to check. */
import { execFileSync } from 'node:child_process';
import { ROOT } from './tree.ts';

const LONGEST = 72;
const LAST = 50;
/** Commits before the one that brought this file are as they are. */
const SINCE = 'test/repository/subjects.ts';

export function longSubjects(subjects: readonly string[]): string[] {
  return subjects.filter((subject) => subject.length > LONGEST);
}

export function recentSubjects(): string[] {
  const [since] = git('log', '--diff-filter=A', '--format=%H', '--', SINCE);
  if (since === undefined) return [];
  return git('log', `--max-count=${LAST}`, '--format=%s', '--ancestry-path', `${since}..HEAD`);
}

function git(...args: readonly string[]): string[] {
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return []; // No git, or no repository of ours.
  }
}
