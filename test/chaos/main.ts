/**
 * Chaos for real processes: a cluster of three regions on this machine, clients at every consistency level, and one fault after
 * another; then the checkers of the simulator judge what the clients were told.
 *
 *   npm run chaos [-- --minutes 5] [--seed N] [--consistency LEVEL] [--partition-sets 8] [--kinds kill,pause] [--stores] [--json]
 *
 * With --stores the acceptors are a PostgreSQL, a Redis, an etcd and two services, and one of the stores is away during every fault.
 * The levels share the minutes. The seed decides the faults and what clients try; what the machine makes of it differs from run to run.
 */
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CONSISTENCY_LEVELS, type ConsistencyLevel } from 'baton/check';
import { runCampaign } from './campaign.ts';
import { canMakeNamespaces } from './environment.ts';
import { abilitiesOf, findFaketime } from './faults.ts';
import { formatRecording, keepHistories } from './recording.ts';
import { formatSummary, summarize, type Summary } from './report.ts';
import { FAULT_KINDS, type FaultKind, STORE_KINDS } from './schedule.ts';
import { lackingPrograms } from './stores.ts';
import { judge } from './verdict.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string' },
    consistency: { type: 'string' },
    'partition-sets': { type: 'string', default: '8' },
    clients: { type: 'string', default: '6' },
    kinds: { type: 'string' },
    stores: { type: 'boolean', default: false },
    /** Writes what was recorded of the first partition-set to a file. */
    record: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

const seed = positive('seed', values.seed ?? String(randomInt(1, 2 ** 31)));
const levels =
  values.consistency === undefined ? CONSISTENCY_LEVELS : values.consistency.split(',').map(levelIn);
const seconds = (positive('minutes', values.minutes) * 60) / levels.length;
const stores = values.stores ? STORE_KINDS : [];
for (const { name, why, how } of lackingPrograms(stores)) usage(`${name} cannot be had: ${why}; ${how}`);
const everything = abilitiesOf(canMakeNamespaces(), findFaketime(), stores);
const kinds = values.kinds?.split(',').map(kindIn) ?? everything.kinds;
const abilities = { ...everything, kinds: kinds.filter((kind) => everything.kinds.includes(kind)) };
if (abilities.kinds.length === 0)
  usage(`none of the kinds of faults can be done here: ${everything.notRun.join('; ')}`);
// The servers of stores are ended when this process exits; a signal alone would not let it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const summaries: Summary[] = [];
for (const consistency of levels) {
  const evidence = await runCampaign({
    seed,
    consistency,
    seconds,
    abilities,
    holdsBounds: true,
    partitionSets: positive('partition-sets', values['partition-sets']),
    clients: positive('clients', values.clients),
    progress: (line) => process.stderr.write(`${line}\n`),
  });
  const summary = summarize(evidence, judge(evidence));
  summaries.push(summary);
  if (values.record !== undefined)
    writeFileSync(values.record, formatRecording(consistency, evidence.sets[0]!));
  if (summary.violations.length === 0) evidence.discard();
  else keepHistories(evidence);
  if (!values.json) process.stdout.write(formatSummary(summary, evidence));
}
const failed = summaries.filter(({ violations }) => violations.length > 0);
if (values.json) process.stdout.write(`${JSON.stringify({ seed, levels: summaries })}\n`);
else
  process.stdout.write(
    `${summaries.length - failed.length} levels passed, ${failed.length} failed; seed ${seed}\n`,
  );
process.exitCode = failed.length === 0 ? 0 : 1;

function levelIn(name: string): ConsistencyLevel {
  const level = CONSISTENCY_LEVELS.find((one) => one.toLowerCase() === name.toLowerCase());
  return level ?? usage(`there is no consistency level ${name}; there are ${CONSISTENCY_LEVELS.join(', ')}`);
}

function kindIn(name: string): FaultKind {
  const kind = FAULT_KINDS.find((one) => one === name);
  return kind ?? usage(`there is no fault ${name}; there are ${FAULT_KINDS.join(', ')}`);
}

function positive(name: string, text: string): number {
  const value = Number(text);
  return value > 0 ? value : usage(`--${name} must be a positive number, not ${text}`);
}

function usage(what: string): never {
  process.stderr.write(`chaos: ${what}.\n`);
  process.exit(2);
}
