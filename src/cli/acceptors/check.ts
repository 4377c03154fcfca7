/** `baton acceptors check`: may this store keep an acceptor's memory, and what does it take. */
import { randomBytes } from 'node:crypto';
import { isService } from '../../caspaxos/index.ts';
import { type AccessFlags, accessFrom, wholeNumber } from './access.ts';
import { asError, openFor } from './opening.ts';
import { EXIT, type ExitCode, usage } from '../operate/errors.ts';
import { type Progress, progressBar } from '../progress.ts';
import type { Stage } from '../operate/stage.ts';
import { KINDS } from './kinds.ts';
import { permissionsFor } from './permissions.ts';
import { type Place, placeOf } from './place.ts';
import type { AcceptorReport, CheckReport } from './report.ts';
import type { Restarting } from './restart-check.ts';
import { SERVICE_STEPS, surveyService } from './service-checks.ts';
import { type Findings, STORE_STEPS, surveyStore, type SurveyOptions } from './survey.ts';
import { togetherWarnings } from './together.ts';

export interface CheckFlags extends AccessFlags {
  readonly races: string;
  readonly samples: string;
  readonly restart?: boolean;
  readonly wait: string;
  readonly format: string;
}

const BUDGET_MS = 3000;

export async function check(
  stage: Stage,
  urls: readonly string[],
  flags: CheckFlags,
  progress: Progress = progressBar('steps'),
): Promise<{ readonly report: CheckReport; readonly exit: ExitCode }> {
  const options = accessFrom(stage, flags);
  const races = wholeNumber(flags.races, '--races');
  const samples = wholeNumber(flags.samples, '--samples');
  const restart = flags.restart === true;
  const waitMs = 1000 * wholeNumber(flags.wait, '--wait');
  // A mistyped URL is found before anything is connected to.
  const places = urls.map((url) => ({ url, place: placeOf(url), findings: openFor(url, options) }));
  for (const { place } of places)
    if (restart && place.hosts.length === 0)
      throw usage(`--restart is for acceptors with a server: ${place.url} has none.`);
  const stepsOf = ({ url }: Place): number =>
    (isService(url) ? SERVICE_STEPS : STORE_STEPS) + (restart ? 1 : 0);
  const inAll = places.reduce((sum, { place }) => sum + stepsOf(place), 0);
  let done = 0;
  const acceptors: AcceptorReport[] = [];
  try {
    for (const [at, { url, place, findings }] of places.entries()) {
      progress.update(done, inAll);
      const survey: SurveyOptions = {
        run: randomBytes(6).toString('hex'),
        races,
        pace: { now: () => performance.now(), samples, budgetMs: BUDGET_MS },
        onStep: () => {
          done += 1;
          progress.update(done, inAll);
        },
        restarting: restart ? restartingOf(stage, place, waitMs, flags, progress) : undefined,
      };
      acceptors.push(await examine(url, place, findings, survey));
      done = places.slice(0, at + 1).reduce((sum, one) => sum + stepsOf(one.place), 0);
    }
  } finally {
    progress.clear();
  }
  const report = { acceptors, warnings: togetherWarnings(places.map(({ place }) => place)) };
  const isWell = acceptors.every(({ verdict }) => verdict === 'ok');
  return { report, exit: isWell ? EXIT.ok : EXIT.problem };
}

/** Asks for the restart on stdout, where programs wait for it; unless a table is printed there, which has no place for it. */
function restartingOf(
  stage: Stage,
  { url }: Place,
  waitMs: number,
  { format }: CheckFlags,
  progress: Progress,
): Restarting {
  const sentence = `Restart the server of ${url} now, by a clean stop or a kill. Waiting for it for up to ${waitMs / 1000} s.\n`;
  return {
    ask: () => {
      progress.clear();
      if (format === 'json') stage.out(`${JSON.stringify({ event: 'restart', url })}\n`);
      else if (format === 'pretty') stage.out(sentence);
      else stage.err(sentence);
    },
    waitMs,
    now: () => performance.now(),
    sleep: (ms) => stage.sleep(ms),
  };
}

async function examine(
  url: string,
  place: Place,
  survey: ReturnType<typeof openFor>,
  options: SurveyOptions,
): Promise<AcceptorReport> {
  const kind = KINDS[place.scheme]!;
  const facts = {
    url: place.url,
    kind: kind.name,
    where: kind.where(place),
    verified: isUnchecked(place) ? [] : kind.verified,
    seeTo: kind.seeTo,
    permissions: permissionsFor(place),
    warnings: [
      ...kind.warnings,
      ...(isUnchecked(place)
        ? ['durability=unchecked: nobody has looked at whether it keeps what it answers']
        : []),
    ],
  };
  try {
    const findings: Findings =
      survey.kind === 'store'
        ? await surveyStore(survey.open, options)
        : await surveyService(survey.open, options);
    // A race that a service in no set cannot run is no fault of it; one that another check disturbed has to be run again.
    const isWell = findings.checks.every(
      ({ result }) => result === 'passed' || (result === 'not done' && survey.kind === 'service'),
    );
    return { ...facts, verdict: isWell ? 'ok' : 'failed', ...findings };
  } catch (error) {
    return { ...facts, verdict: 'failed', error: asError(error, url, place), checks: [], latencies: [] };
  }
}

function isUnchecked({ options }: Place): boolean {
  return options.get('durability') === 'unchecked';
}
