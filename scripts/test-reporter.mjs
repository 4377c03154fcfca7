/**
 * Counts a test run so that nothing is skipped silently. A test that could not run says so with a note (see
 * `test/support/not-run.ts`) and is listed; any other skipped or unfinished test is a failure, and so are a file that
 * does not load and an error that no test caught. With CI set, what was not run is a failure as well.
 *
 * Writes the counts to the file named by BATON_TEST_SUMMARY.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const NOTE = /^not run: (?<what>.*?)(?:; to get it: (?<how>.*))?$/s;

/** What a note says, or undefined when it is not one of ours. */
export function parseNote(note) {
  const parts = NOTE.exec(note ?? '')?.groups;
  if (parts === undefined) return undefined;
  return { what: parts.what, how: parts.how ?? '' };
}

export function isContinuousIntegration(env = process.env) {
  return !['', '0', 'false'].includes(env.CI ?? '');
}

export default class TestReporter {
  #filtered = false;

  onInit(vitest) {
    this.#filtered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules, unhandledErrors, reason) {
    const summary = { passed: 0, failed: 0, filtered: 0, notRun: [], skipped: [], problems: [] };
    for (const module of modules) this.#count(module, summary);
    for (const error of unhandledErrors)
      summary.problems.push(`an error that no test caught: ${error.message}`);
    if (reason === 'interrupted') summary.problems.push('the run was interrupted');
    summary.failed += summary.skipped.length + summary.problems.length;
    if (isContinuousIntegration()) summary.failed += summary.notRun.length;
    const file = process.env.BATON_TEST_SUMMARY;
    if (file === undefined) return;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(summary, null, 2));
  }

  #count(module, summary) {
    let failedInside = false;
    for (const test of module.children.allTests()) {
      const name = `${module.relativeModuleId} > ${test.fullName}`;
      const { state, note } = test.result();
      failedInside ||= state === 'failed';
      if (state === 'passed') summary.passed += 1;
      else if (state === 'failed') summary.failed += 1;
      else if (parseNote(note) !== undefined) summary.notRun.push({ test: name, ...parseNote(note) });
      else if (this.#filtered) summary.filtered += 1;
      else summary.skipped.push(name);
    }
    const broken = [module, ...module.children.allSuites()].filter((part) => part.errors().length > 0);
    for (const part of broken) {
      const name = [module.relativeModuleId, part.fullName].filter(Boolean).join(' > ');
      summary.problems.push(`${name}: ${part.errors()[0].message}`);
    }
    if (module.state() === 'failed' && !failedInside && broken.length === 0) {
      summary.problems.push(`${module.relativeModuleId}: failed`);
    }
  }
}
