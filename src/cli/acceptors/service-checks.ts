/**
 * An acceptor service has no conditional write to race: the role runs next to its disk. What can be raced is the role itself:
 * of promises that are asked for at once the highest is given, and nothing lower from then on.
 *
 * The race asks for promises of one register, `.baton.check`, whose name nobody else can use. It never proposes a value, so the
 * register stays empty, as one does whose first proposer died. Even so it is a register; and a service that is in no set yet must
 * hold none, or it could not be taken into one. Such a service is asked, and not written to.
 */
import { randomInt } from 'node:crypto';
import {
  type Acceptor,
  CasPaxosError,
  type RegisterReply,
  type RegisterRequest,
} from '../../caspaxos/index.ts';
import { type Ballot, compareBallots } from '../../protocol/index.ts';
import { type Latency, measure } from './latency.ts';
import { RESTART, type Restarting, untilRestarted } from './restart-check.ts';
import { type CheckResult, type Findings, type SurveyOptions, verdictOn } from './survey.ts';
import { BATCH_SIZE, Defect, Disturbed } from './workplace.ts';

export const CHECK_REGISTER = '.baton.check';

const CONNECTIONS = 3;
/** Looking at it, two checks, three latencies. */
export const SERVICE_STEPS = 6;

const PROMISES = {
  name: 'promises',
  says: 'of ballots that come at once the highest is promised, and nothing lower afterwards',
} as const;
const ASKED_ONLY = {
  result: 'not done',
  remark: 'it is in no set of acceptors yet, and has to stay empty until then',
} as const;
const QUERIES = { name: 'queries', says: 'every connection is told the same' } as const;

export async function surveyService(open: () => Acceptor, options: SurveyOptions): Promise<Findings> {
  const connections = Array.from({ length: CONNECTIONS }, open);
  try {
    const { id, configuration, hasRegisters } = await connections[0]!.describe();
    const set = configuration?.number ?? 0;
    options.onStep();
    const isMember = configuration !== undefined;
    const promised = isMember
      ? await verdictOf(PROMISES, () => racePromises(connections, open, set, options.races))
      : { ...PROMISES, ...ASKED_ONLY };
    options.onStep();
    const checks = [promised, await verdictOf(QUERIES, () => compareQueries(connections, set, id))];
    options.onStep();
    const latencies = await serviceLatencies(connections[0]!, set, isMember, options);
    const { restarting } = options;
    if (restarting !== undefined) {
      const restarted = (): Promise<string> => restartService(connections[0]!, open, set, restarting);
      checks.push(isMember ? await verdictOf(RESTART, restarted) : { ...RESTART, ...ASKED_ONLY });
      options.onStep();
    }
    return { member: { id, set, holdsRegisters: hasRegisters }, checks, latencies };
  } finally {
    await Promise.all(connections.map((acceptor) => acceptor.close()));
  }
}

async function verdictOf(
  check: { readonly name: string; readonly says: string },
  run: () => Promise<string | void>,
): Promise<CheckResult> {
  try {
    const remark = await run();
    return { ...check, result: 'passed', ...(remark !== undefined && { remark }) };
  } catch (error) {
    return { ...check, ...verdictOn(error) };
  }
}

async function racePromises(
  connections: readonly Acceptor[],
  open: () => Acceptor,
  set: number,
  rounds: number,
): Promise<void> {
  const incarnation = randomInt(1, 2 ** 47);
  const ballot = (counter: number): Ballot => ({ counter, proposer: 'check', incarnation });
  let counter = await promisedSoFar(connections[0]!, set, ballot(1));
  for (let round = 0; round < rounds; round += 1) {
    // Each round begins with another connection's highest.
    const counters = connections.map((_, at) => counter + 1 + ((at + round) % connections.length));
    const replies = await Promise.all(
      connections.map((acceptor, at) => ask(acceptor, set, ballot(counters[at]!))),
    );
    counter += connections.length;
    const highest = replies[counters.indexOf(counter)]!;
    if (highest.type === 'nak' && highest.promised.incarnation !== incarnation) throw new Disturbed();
    if (highest.type !== '1b') throw new Defect('The highest of several ballots was refused.');
    await mustRefuse(connections[round % connections.length]!, set, ballot(counter - 1), ballot(counter));
  }
  const fresh = open();
  try {
    await mustRefuse(fresh, set, ballot(counter - 1), ballot(counter));
  } finally {
    await fresh.close();
  }
}

/** Promises are asked for until it goes away; the highest that was answered must be known when it is back. */
async function restartService(
  acceptor: Acceptor,
  open: () => Acceptor,
  set: number,
  restarting: Restarting,
): Promise<string> {
  const incarnation = randomInt(1, 2 ** 47);
  const ballot = (counter: number): Ballot => ({ counter, proposer: 'check', incarnation });
  const first = await promisedSoFar(acceptor, set, ballot(1));
  let highest = first;
  const promise = async (): Promise<void> => {
    const reply = await ask(acceptor, set, ballot(highest + 1));
    if (reply.type === 'nak') throw new Disturbed();
    highest += 1;
  };
  await promise();
  const fresh = open();
  try {
    const life = async (): Promise<undefined> => void (await fresh.describe());
    await untilRestarted(restarting, { beat: promise, life });
    await mustRefuse(fresh, set, ballot(highest - 1), ballot(highest));
  } finally {
    await fresh.close();
  }
  return `${highest - first} promises were answered before it ended`;
}

async function promisedSoFar(acceptor: Acceptor, set: number, lowest: Ballot): Promise<number> {
  const reply = await ask(acceptor, set, lowest);
  return reply.type === 'nak' ? reply.promised.counter : lowest.counter;
}

async function mustRefuse(acceptor: Acceptor, set: number, lower: Ballot, promised: Ballot): Promise<void> {
  const reply = await ask(acceptor, set, lower);
  if (reply.type !== 'nak') throw new Defect('A ballot was promised after a higher one had been.');
  if (compareBallots(reply.promised, promised) < 0)
    throw new Defect('A promise that was answered is forgotten.');
}

async function ask(acceptor: Acceptor, set: number, ballot: Ballot): Promise<RegisterReply> {
  const [reply] = await acceptor.handle([{ key: CHECK_REGISTER, set, message: { type: '1a', ballot } }], 0);
  return sound(acceptor, reply);
}

function sound(acceptor: Acceptor, reply: RegisterReply | undefined): RegisterReply {
  if (reply === undefined) throw new Defect('A request had no reply.');
  if (reply.type === 'failed') throw new CasPaxosError('STORE_FAILED', reply.message);
  if (reply.type !== 'stale-set') return reply;
  throw new CasPaxosError(
    'STALE_SET',
    `Acceptor ${acceptor.url} was taken into another set of acceptors meanwhile; run the check again.`,
  );
}

async function compareQueries(connections: readonly Acceptor[], set: number, id: string): Promise<void> {
  for (const acceptor of connections) {
    const description = await acceptor.describe();
    if (description.id !== id)
      throw new Defect(`Two connections reach two acceptors: ${id} and ${description.id}.`);
    const [reply] = await acceptor.handle([query(CHECK_REGISTER, set)], 0);
    const { type } = sound(acceptor, reply);
    if (type !== 'state') throw new Defect(`A query was answered with ${type}.`);
  }
}

function query(key: string, set: number): RegisterRequest {
  return { key, set, message: { type: 'query' } };
}

async function serviceLatencies(
  acceptor: Acceptor,
  set: number,
  isMember: boolean,
  { pace, onStep }: SurveyOptions,
): Promise<readonly Latency[]> {
  const latencies: Latency[] = [];
  const add = async (what: string, call: () => Promise<unknown>): Promise<void> => {
    latencies.push(await measure(what, pace, call));
    onStep();
  };
  await add('query', () => acceptor.handle([query(CHECK_REGISTER, set)], 0));
  const batch = Array.from({ length: BATCH_SIZE }, (_, at) => query(`${CHECK_REGISTER}/${at}`, set));
  await add(`queries of ${BATCH_SIZE}`, () => acceptor.handle(batch, 0));
  if (!isMember) return latencies;
  const incarnation = randomInt(1, 2 ** 47);
  let counter = await promisedSoFar(acceptor, set, { counter: 1, proposer: 'check', incarnation });
  await add('promise, durable', () => {
    counter += 1;
    return ask(acceptor, set, { counter, proposer: 'check', incarnation });
  });
  return latencies;
}
