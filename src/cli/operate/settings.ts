/** `NAME=VALUE` at the command line, as the intents that set it. */
import { CONSISTENCY_LEVELS, type IntentBody, PROFILES } from '../../failover/index.ts';
import { usage } from './errors.ts';
import type { Configuration, Failback } from './shapes.ts';

export const SETTINGS = {
  consistency:
    'Strong, BoundedStaleness, Session, ConsistentPrefix or Eventual; another level comes into force when it is safe',
  staleness: 'WRITES/SECONDS, with consistency=BoundedStaleness',
  minimumDurability: 'regions that must have a write; more come into force when the lease set is that large',
  failback: 'automatic, off, or daily windows in UTC: 22:00-04:00,12:00-13:00',
  maximumLoss: 'writes that an election may lose at the weaker levels, or none',
  profile: 'fast or paper: how often regions report and how long leases are',
  'signal.NAME': 'ignore, graceful or failover: what the health signal NAME does to the write region',
} as const;

type Maker = (now: Configuration) => IntentBody;

/** In the order in which they are sent. */
export function intentsFor(assignments: readonly string[]): readonly Maker[] {
  const given = new Map(assignments.map(parse));
  if (given.size !== assignments.length) throw usage('A setting is given twice.');
  const staleness = given.get('staleness');
  if (staleness !== undefined && given.get('consistency') !== 'BoundedStaleness') {
    throw usage('staleness requires consistency=BoundedStaleness.');
  }
  const signals = new Map([...given].filter(([name]) => name.startsWith('signal.')));
  const makers = [...given]
    .filter(([name]) => name !== 'staleness' && !signals.has(name))
    .map(([name, value]) => makerFor(name, value, staleness));
  return signals.size === 0 ? makers : [...makers, signalMaker(signals)];
}

function parse(assignment: string): readonly [string, string] {
  const at = assignment.indexOf('=');
  const [name, value] = [assignment.slice(0, at).trim(), assignment.slice(at + 1).trim()];
  if (at <= 0 || value === '') throw usage(`A setting has the form NAME=VALUE, not "${assignment}".`);
  return [name, value];
}

function makerFor(name: string, value: string, staleness: string | undefined): Maker {
  switch (name) {
    case 'consistency': {
      const consistency = oneOf(name, value, CONSISTENCY_LEVELS);
      const bound = staleness === undefined ? {} : { staleness: boundIn(staleness) };
      return () => ({ kind: 'consistency', consistency, ...bound });
    }
    case 'minimumDurability': {
      const minDurability = whole(name, value, 1);
      return () => ({ kind: 'durability', minDurability });
    }
    case 'failback': {
      const failback = failbackIn(value);
      return () => ({ kind: 'failback', failback });
    }
    case 'maximumLoss': {
      const writes = value === 'none' ? null : whole(name, value, 0);
      return () => ({ kind: 'maximum loss', writes });
    }
    case 'profile': {
      const timings = PROFILES[oneOf(name, value, ['fast', 'paper'])];
      return () => ({ kind: 'timings', timings });
    }
    default:
      throw usage(`Unknown setting ${name}; the settings are ${Object.keys(SETTINGS).join(', ')}.`);
  }
}

function signalMaker(given: ReadonlyMap<string, string>): Maker {
  const changes = Object.fromEntries(
    [...given].map(([name, value]) => [
      name.slice('signal.'.length),
      oneOf(name, value, ['ignore', 'graceful', 'failover'] as const),
    ]),
  );
  return ({ signals }) => ({ kind: 'signals', signals: { ...signals, ...changes } });
}

function oneOf<T extends string>(name: string, value: string, known: readonly T[]): T {
  const found = known.find((one) => one.toLowerCase() === value.toLowerCase());
  if (found === undefined) throw usage(`${name} must be one of ${known.join(', ')}, not "${value}".`);
  return found;
}

function whole(name: string, value: string, least: number): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < least) {
    throw usage(`${name} must be a whole number of at least ${least}, not "${value}".`);
  }
  return number;
}

function boundIn(text: string): { writes: number; seconds: number } {
  const [writes = '', seconds = '', more] = text.split('/');
  if (more !== undefined) throw usage(`staleness has the form WRITES/SECONDS, not "${text}".`);
  return { writes: whole('staleness', writes, 1), seconds: whole('staleness', seconds, 1) };
}

const WINDOW = /^(?<from>(?:[01]\d|2[0-3]):[0-5]\d)-(?<to>(?:[01]\d|2[0-3]):[0-5]\d)$/;

function failbackIn(text: string): Failback {
  if (text === 'automatic' || text === 'off') return text;
  const windows = text.split(',').map((part) => {
    const groups = WINDOW.exec(part.trim())?.groups;
    if (groups === undefined)
      throw usage(`failback must be automatic, off or windows like 22:00-04:00, not "${part}".`);
    return { from: groups['from']!, to: groups['to']! };
  });
  return { windows };
}

export function failbackText(failback: Failback | undefined): string {
  if (failback === undefined || typeof failback === 'string') return failback ?? 'automatic';
  return failback.windows.map(({ from, to }) => `${from}-${to}`).join(',');
}

function boundOf({ writes, seconds }: NonNullable<Configuration['staleness']>): string {
  return `${writes}/${seconds}`;
}

/** Name and value, as they would be set. */
export function settingsOf(configuration: Configuration): readonly (readonly [string, string])[] {
  const { consistency, staleness, minDurability, wanted, failback, maxLossWrites, timings, signals } =
    configuration;
  const soon = (value: string | number | undefined): string =>
    value === undefined ? '' : ` (${value} when it is safe)`;
  return [
    ['priorities', configuration.priorities.join(',')],
    ['consistency', `${consistency}${soon(wanted?.consistency)}`],
    ...(staleness
      ? [
          [
            'staleness',
            `${boundOf(staleness)}${soon(wanted?.staleness && boundOf(wanted.staleness))}`,
          ] as const,
        ]
      : []),
    ['minimumDurability', `${minDurability}${soon(wanted?.minDurability)}`],
    ['failback', failbackText(failback)],
    ['maximumLoss', maxLossWrites === undefined ? 'none' : String(maxLossWrites)],
    ...(timings
      ? [
          [
            'timings',
            `every ${timings.intervalMs} ms, lease ${timings.leaseMs} ms, settling ${timings.settleMs} ms`,
          ] as const,
        ]
      : []),
    ...Object.entries(signals ?? {}).map(([name, policy]) => [`signal.${name}`, policy] as const),
  ];
}
