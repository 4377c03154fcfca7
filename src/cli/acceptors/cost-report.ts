/** `baton acceptors cost`: the arithmetic of docs/acceptors.md with the reader's own numbers. */
import { PROFILES } from '../../failover/core/index.ts';
import { usage } from '../operate/errors.ts';
import { pretty, type Report, right, table } from '../operate/output.ts';
import { type Fleet, monthlyCost, type Prices } from './cost.ts';

type Profile = keyof typeof PROFILES;

export interface CostFlags {
  readonly partitionSets: string;
  readonly regions: string;
  readonly acceptors: string;
  readonly profile: string;
  readonly priceWrite: string;
  readonly priceRead: string;
  readonly writeUnits: string;
  readonly readUnits: string;
  readonly format: string;
}

export function costReport(flags: CostFlags): Report {
  const profile = profileOf(flags.profile);
  const fleet: Fleet = {
    partitionSets: number(flags.partitionSets, '--partition-sets', 1),
    regions: number(flags.regions, '--regions', 1),
    acceptors: number(flags.acceptors, '--acceptors', 1),
    intervalMs: PROFILES[profile].intervalMs,
  };
  const prices: Prices = {
    write: number(flags.priceWrite, '--price-write'),
    read: number(flags.priceRead, '--price-read'),
    writeUnits: number(flags.writeUnits, '--write-units'),
    readUnits: number(flags.readUnits, '--read-units'),
  };
  const month = monthlyCost(fleet, prices);
  const figures = table(
    ['A MONTH (730 H)', right('IN ALL'), right('A SECOND')],
    [
      {
        cells: [
          'changes of registers',
          whole(month.changes),
          rate((month.changes / month.writes) * month.writesPerSecond),
        ],
      },
      { cells: ['conditional writes', whole(month.writes), rate(month.writesPerSecond)] },
      { cells: ['reads of a document', whole(month.reads), rate(month.readsPerSecond)] },
      { cells: ['price', month.price.toFixed(2), ''] },
    ],
  );
  return {
    value: { profile, ...fleet, prices, month },
    table: figures,
    pretty: (paint) =>
      `${fleet.partitionSets} partition-sets in ${fleet.regions} regions, profile ${profile}, at ${fleet.acceptors} acceptors with these prices:\n\n` +
      `${pretty(figures, paint)}\n` +
      'Stores that write a batch in one request (postgres, redis, etcd) take fewer requests the more partition-sets a process has.\n',
  };
}

function profileOf(text: string): Profile {
  if (Object.hasOwn(PROFILES, text)) return text as Profile;
  throw usage(`--profile knows ${Object.keys(PROFILES).join(' and ')}, not "${text}".`);
}

function number(text: string, flag: string, least?: 1): number {
  const value = text.trim() === '' ? NaN : Number(text);
  const isGood =
    least === 1 ? Number.isSafeInteger(value) && value >= 1 : Number.isFinite(value) && value >= 0;
  if (isGood) return value;
  throw usage(
    `${flag} needs ${least === 1 ? 'a whole number of at least 1' : 'a number of 0 or more'}, not "${text}".`,
  );
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function rate(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 3 });
}
