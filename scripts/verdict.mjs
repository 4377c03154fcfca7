/** What `npm test` says at its end, beyond the report of the test runner: what was not run and how to get it, and what the long run has in addition. */
import { describeLongRun } from './long-run.mjs';
import { isContinuousIntegration } from './test-reporter.mjs';

/** The text, and the exit code that follows from the counts. `lane`: undefined where files were named. */
export function verdictOn({ passed, failed, filtered, notRun, skipped, problems }, lane) {
  const lines = [
    ...skipped.map((name) => `Skipped without a reason: ${name}`),
    ...problems.map((problem) => `Broken: ${problem}`),
    ...(filtered > 0 ? [`${filtered} tests left out by the name that was asked for.`] : []),
    ...(notRun.length > 0 ? [describeNotRun(notRun)] : []),
    ...(lane !== undefined ? [`\n${passed} tests passed, ${failed} failed.`] : []),
    ...(lane === 'quick' ? [describeLongRun()] : []),
  ];
  const code = failed > 0 || passed + filtered + notRun.length === 0 ? 1 : 0;
  return { text: lines.map((line) => `${line}\n`).join(''), code };
}

function describeNotRun(notRun) {
  const reasons = new Map();
  for (const { test, what, how } of notRun) {
    const key = JSON.stringify([what, how]);
    reasons.set(key, [...(reasons.get(key) ?? []), test]);
  }
  const blocks = [...reasons].map(([key, tests]) => {
    const [what, how] = JSON.parse(key);
    const weight = isContinuousIntegration() ? ' (a failure, as CI is set)' : '';
    const lines = [`  ${what}${weight}`, ...(how === '' ? [] : [`    to get it: ${how}`])];
    return [...lines, ...tests.map((test) => `    - ${test}`)].join('\n');
  });
  return `\nNot run, ${notRun.length} in all:\n${blocks.join('\n')}`;
}
