/** One acceptor looked at from all sides: can it be reached, does it do what it must, how long does it take. */
import { CasPaxosError, type AcceptorStore, StoreAcceptor } from '../../caspaxos/index.ts';
import { type Latency, measure, type Pace } from './latency.ts';
import { RESTART, restartStore, type Restarting } from './restart-check.ts';
import { STORE_CHECKS, type StoreCheck } from './store-checks.ts';
import { BATCH_SIZE, Defect, Disturbed, KEYS, Workplace } from './workplace.ts';

export interface CheckResult {
  readonly name: string;
  readonly says: string;
  readonly result: 'passed' | 'failed' | 'not done';
  /** What was seen, or why it was not done. */
  readonly remark?: string;
}

/** An acceptor that is at work. */
export interface Membership {
  readonly id: string;
  /** The number of the set of acceptors that it knows; 0: none yet. */
  readonly set: number;
  readonly holdsRegisters: boolean;
}

export interface Findings {
  /** Absent: an empty store, which nobody has used as an acceptor. */
  readonly member?: Membership;
  readonly checks: readonly CheckResult[];
  readonly latencies: readonly Latency[];
  /** How many requests all of it took, as a bill would count them. */
  readonly requests?: number;
}

export interface SurveyOptions {
  readonly run: string;
  readonly races: number;
  readonly pace: Pace;
  /** Called after each step; there are `STORE_STEPS` of them, or `SERVICE_STEPS`, and one more with a restart. */
  readonly onStep: () => void;
  /** Undefined: the server is left alone. */
  readonly restarting?: Restarting | undefined;
}

const IDENTITY_KEY = 'identity';
/** As large as the state of a partition-set with three regions gets. */
export const DOCUMENT_BYTES = 2000;

/** Looking at it, the checks, and four latencies. */
export const STORE_STEPS = 1 + STORE_CHECKS.length + 4;

export async function surveyStore(open: () => AcceptorStore, options: SurveyOptions): Promise<Findings> {
  const place = new Workplace({ open, run: options.run, races: options.races });
  try {
    const member = await lookAt(place.connection(0));
    options.onStep();
    const checks: CheckResult[] = [];
    for (const check of STORE_CHECKS) {
      checks.push(await carryOut(check, place));
      options.onStep();
    }
    const isSound = checks.every(({ result }) => result === 'passed');
    const latencies = isSound ? await storeLatencies(place, options) : [];
    const { restarting } = options;
    if (isSound && restarting !== undefined) {
      checks.push(await carryOut({ ...RESTART, run: () => restartStore(place, restarting) }, place));
      options.onStep();
    }
    const { requests } = place;
    return {
      ...(member && { member }),
      checks,
      latencies,
      ...(requests !== undefined && { requests }),
    };
  } finally {
    await place.close();
  }
}

/** An acceptor's identity is left as it is, and none is made: an empty store stays one. */
async function lookAt(store: AcceptorStore): Promise<Membership | undefined> {
  await store.prepare?.();
  const [identity] = await store.read([IDENTITY_KEY]);
  if (identity === undefined) return undefined;
  const { id, configuration, hasRegisters } = await new StoreAcceptor(store).describe();
  return { id, set: configuration?.number ?? 0, holdsRegisters: hasRegisters };
}

async function carryOut({ name, says, run }: StoreCheck, place: Workplace): Promise<CheckResult> {
  try {
    const remark = await run(place);
    return { name, says, result: 'passed', ...(remark !== undefined && { remark }) };
  } catch (error) {
    return { name, says, ...verdictOn(error) };
  }
}

/** What cannot be held against the acceptor is not done; what it cannot do at all ends the survey. */
export function verdictOn(error: unknown): Pick<CheckResult, 'result' | 'remark'> {
  if (error instanceof Defect) return { result: 'failed', remark: error.message };
  if (error instanceof Disturbed) return { result: 'not done', remark: error.message };
  if (error instanceof CasPaxosError && error.code === 'REQUEST_TOO_LARGE')
    return { result: 'failed', remark: error.message };
  throw error;
}

async function storeLatencies(
  place: Workplace,
  { pace, onStep }: SurveyOptions,
): Promise<readonly Latency[]> {
  const store = place.connection(0);
  const body = 'x'.repeat(DOCUMENT_BYTES);
  const keys = Array.from({ length: BATCH_SIZE }, (_, at) => KEYS.batch(at));
  let version = await place.settle(KEYS.latency, body);
  let versions = (await place.begin(keys)).map((document) => document?.version);
  const step = (latency: Latency): Latency => {
    onStep();
    return latency;
  };
  const few = { ...pace, samples: Math.max(5, Math.round(pace.samples / 5)) };
  return [
    step(await measure('read', pace, () => store.read([KEYS.latency]))),
    step(
      await measure('conditional write', pace, async () => {
        const result = await place.write(KEYS.latency, body, version);
        if (result.result === 'written') ({ version } = result);
        else version = await place.settle(KEYS.latency, body);
      }),
    ),
    step(await measure(`read of ${BATCH_SIZE}`, few, () => store.read(keys))),
    step(
      await measure(`conditional writes of ${BATCH_SIZE}`, few, async () => {
        const writes = keys.map((key, at) => ({ key, text: place.text(body), expected: versions[at] }));
        const results = await store.write(writes);
        versions = results.map((result, at) => (result.result === 'written' ? result.version : versions[at]));
      }),
    ),
  ];
}
