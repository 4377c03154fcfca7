/** Results of `baton sim outage --json` and `baton sim duel --json`, read and checked as far as the page shows them. */
import type { Percentiles } from './statistics.ts';

export interface OutageFile {
  readonly kind: 'outage';
  readonly title: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly recovery: Percentiles;
  readonly detect: Percentiles;
  readonly failback: Percentiles;
  readonly failbackGap: Percentiles;
  /** Mean seconds of each part of a recovery. */
  readonly parts: readonly (readonly [name: string, mean: number])[];
  readonly figures: OutageFigures | undefined;
}

/** What the percentiles leave out; a file may be without it. */
export interface OutageFigures {
  readonly regions: readonly string[];
  readonly bucketSeconds: number;
  /** By moment, then by region. */
  readonly serving: readonly (readonly number[])[];
  readonly partitionSets: number;
  /** Seconds, one for each that was counted; sorted. */
  readonly recovery: readonly number[];
  readonly detect: readonly number[];
}

export interface DuelRow {
  readonly policy: string;
  readonly proposers: number;
  readonly failureRate: number;
  readonly confidence95: readonly [number, number];
  readonly attemptsPerUpdate: number;
  readonly naksPerUpdate: number;
  readonly commitP50: number;
  readonly commitP99: number;
}

export interface DuelFile {
  readonly kind: 'duel';
  readonly title: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly rows: readonly DuelRow[];
}

export type ResultFile = OutageFile | DuelFile;

/** A sentence for the one who opened the file. */
export class FileError extends Error {
  readonly code: 'FILE_NOT_JSON' | 'FILE_NOT_RESULT';

  constructor(code: FileError['code'], message: string) {
    super(message);
    this.name = 'FileError';
    this.code = code;
  }
}

export function readResult(text: string): ResultFile {
  const value = parsed(text);
  if (isObject(value) && isObject(value['recoverySeconds'])) return outageOf(value);
  if (isObject(value) && Array.isArray(value['rows'])) return duelOf(value, value['rows']);
  throw new FileError(
    'FILE_NOT_RESULT',
    'The file is not a simulation result. Expected: the output of baton sim outage --json or baton sim duel --json.',
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FileError('FILE_NOT_JSON', 'The file is not JSON.');
  }
}

type Fields = Readonly<Record<string, unknown>>;

const PARTS: Readonly<Record<string, string>> = {
  leaseRemaining: 'lease remaining',
  waking: 'waking',
  fencing: 'fencing',
  reporting: 'reporting',
  election: 'election',
  takingOver: 'taking over',
};

function outageOf(value: Fields): OutageFile {
  const used = objectIn(value, 'used');
  const breakdown = objectIn(value, 'breakdownSeconds');
  const partitionSets = numberIn(value, 'partitionSets');
  return {
    kind: 'outage',
    title: `${count(partitionSets)} partition-sets, ${textIn(used, 'kindInWords', 'an outage')}`,
    facts: [
      ['partition-sets', count(partitionSets)],
      ['recovered', `${count(numberIn(value, 'recovered'))} of ${count(numberIn(value, 'affected'))}`],
      ['two writers at once', count(numberIn(value, 'doubleWriters'))],
      ['writes lost', count(numberIn(value, 'lostWrites'))],
      ['failovers', count(numberIn(value, 'failovers'))],
      [
        'profile',
        `${textIn(used, 'profile')}: lease ${textIn(used, 'leaseSeconds')} s, interval ${textIn(used, 'intervalSeconds')} s`,
      ],
      ['regions', listIn(used, 'regions').join(', ')],
      ['consistency', textIn(used, 'consistency')],
      ['seed', textIn(used, 'seed')],
    ],
    recovery: percentilesIn(value, 'recoverySeconds'),
    detect: percentilesIn(value, 'detectSeconds'),
    failback: percentilesIn(value, 'failbackSeconds'),
    failbackGap: percentilesIn(value, 'failbackGapSeconds'),
    parts: Object.keys(breakdown).map((part) => [
      PARTS[part] ?? part,
      numberIn(objectIn(breakdown, part), 'mean'),
    ]),
    figures: isObject(value['figures']) ? figuresOf(value['figures'], used, partitionSets) : undefined,
  };
}

function figuresOf(figures: Fields, used: Fields, partitionSets: number): OutageFigures {
  return {
    regions: listIn(used, 'regions').map(String),
    bucketSeconds: numberIn(figures, 'bucketSeconds'),
    serving: listIn(figures, 'serving') as readonly (readonly number[])[],
    partitionSets,
    recovery: secondsOf(listIn(figures, 'recovery')),
    detect: secondsOf(listIn(figures, 'detect')),
  };
}

/** From pairs of tenths of a second and how many there were. */
function secondsOf(bins: readonly unknown[]): readonly number[] {
  return (bins as readonly (readonly [number, number])[]).flatMap(([tenths, times]) =>
    Array.from({ length: times }, () => (tenths + 1) / 10),
  );
}

function duelOf(value: Fields, rows: readonly unknown[]): DuelFile {
  const used = objectIn(value, 'used');
  return {
    kind: 'duel',
    title: `Dueling proposers, ${count(numberIn(used, 'hours'))} simulated hours per row`,
    facts: [
      ['acceptors', textIn(used, 'acceptors')],
      ['lease', `${textIn(used, 'leaseSeconds')} s, renewed every ${textIn(used, 'intervalSeconds')} s`],
      ['latency', textIn(used, 'latencyInWords', textIn(used, 'latency'))],
      [
        'clocks',
        used['skewSeconds'] === 0 ? 'synchronized' : `off by up to ${textIn(used, 'skewSeconds')} s`,
      ],
      ['seed', textIn(used, 'seed')],
    ],
    rows: rows.map((row) => duelRowOf(isObject(row) ? row : {})),
  };
}

function duelRowOf(row: Fields): DuelRow {
  const [low, high] = listIn(row, 'confidence95');
  const commit = objectIn(row, 'commitMs');
  return {
    policy: `${textIn(row, 'policy')}${row['baseSeconds'] === undefined ? '' : `, base ${textIn(row, 'baseSeconds')} s`}`,
    proposers: numberIn(row, 'proposers'),
    failureRate: numberIn(row, 'failureRate'),
    confidence95: [Number(low), Number(high)],
    attemptsPerUpdate: numberIn(row, 'attemptsPerUpdate'),
    naksPerUpdate: numberIn(row, 'naksPerUpdate'),
    commitP50: numberIn(commit, 'p50'),
    commitP99: numberIn(commit, 'p99'),
  };
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function lacking(field: string): FileError {
  return new FileError(
    'FILE_NOT_RESULT',
    `The file looks like a simulation result, but its field ${field} is missing or invalid.`,
  );
}

function objectIn(value: Fields, field: string): Fields {
  const found = value[field];
  if (isObject(found)) return found;
  throw lacking(field);
}

function listIn(value: Fields, field: string): readonly unknown[] {
  const found = value[field];
  if (Array.isArray(found)) return found;
  throw lacking(field);
}

function numberIn(value: Fields, field: string): number {
  const found = value[field];
  if (typeof found === 'number' && Number.isFinite(found)) return found;
  throw lacking(field);
}

/** For what is only shown. */
function textIn(value: Fields, field: string, otherwise = '–'): string {
  const found = value[field];
  return typeof found === 'string' || typeof found === 'number' ? `${found}` : otherwise;
}

function percentilesIn(value: Fields, field: string): Percentiles {
  const found = objectIn(value, field);
  return {
    p50: numberIn(found, 'p50'),
    p90: numberIn(found, 'p90'),
    p99: numberIn(found, 'p99'),
    max: numberIn(found, 'max'),
  };
}

function count(value: number): string {
  return value.toLocaleString('en');
}
