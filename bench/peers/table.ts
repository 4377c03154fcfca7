/** The figures as people read them, and as programs do (`--json`). */
import { middleOf } from '../support/measure.ts';
import { type EventName, type PeerKind, WHAT } from './peer.ts';
import type { Run, Stop } from './run.ts';

export interface Row {
  readonly system: string;
  readonly settings: string;
  readonly event: EventName;
  readonly runs: number;
  /** The gap before the event, at the median: what belongs to the machine. */
  readonly steadyMs: number;
  readonly medianMs: number;
  readonly worstMs: number;
  readonly acknowledged: number;
  readonly lostWrites: number;
  readonly gapsMs: readonly number[];
  /**
   * At the loss of a coordination majority: how soon writes stopped, and how long after its return they were back; the worst
   * of the runs. Null when they went on.
   */
  readonly stop?: Stop | null;
}

export function rowOf(system: string, settings: string, event: EventName, runs: readonly Run[]): Row {
  const gaps = runs.map(({ gapMs }) => gapMs);
  const sum = (field: 'acknowledged' | 'lostWrites'): number =>
    runs.reduce((total, run) => total + run[field], 0);
  return {
    system,
    settings,
    event,
    runs: runs.length,
    steadyMs: middleOf(runs.map(({ steadyMs }) => steadyMs)),
    medianMs: middleOf(gaps),
    worstMs: Math.max(...gaps),
    acknowledged: sum('acknowledged'),
    lostWrites: sum('lostWrites'),
    gapsMs: gaps,
    ...((event === 'majority' || event === 'both') && {
      stop: worstStop(runs.flatMap(({ stop }) => stop ?? [])),
    }),
  };
}

function worstStop(stops: readonly Stop[]): Stop | null {
  if (stops.length === 0) return null;
  return {
    afterMs: Math.min(...stops.map(({ afterMs }) => afterMs)),
    backAfterMs: Math.max(...stops.map(({ backAfterMs }) => backAfterMs)),
  };
}

const COLUMNS = [
  ['system', 10],
  ['settings', 10],
  ['event', 45],
  ['runs', -5],
  ['steady ms', -11],
  ['median ms', -11],
  ['worst ms', -10],
  ['acknowledged', -14],
  ['lost', -6],
] as const;

export function tableOf(rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string =>
    COLUMNS.map(([, width], at) => (width > 0 ? cells[at]!.padEnd(width) : cells[at]!.padStart(-width))).join(
      '',
    );
  const lines = rows.map((row) => {
    const { system, settings, event, runs, steadyMs, medianMs, worstMs, acknowledged, lostWrites } = row;
    const figures = [runs, steadyMs, medianMs, worstMs, acknowledged, lostWrites].map(String);
    return `${line([system, settings, WHAT[event], ...figures])}${meanwhile(row)}`;
  });
  return [line(COLUMNS.map(([name]) => name)), ...lines].join('\n');
}

function meanwhile({ stop }: Row): string {
  if (stop === undefined) return '';
  if (stop === null) return '  writes went on';
  const seconds = (ms: number): string => (ms / 1000).toFixed(1);
  return `  writes stopped after ${seconds(stop.afterMs)} s, were back ${seconds(stop.backAfterMs)} s after its return`;
}

/** What the reader has to know to make sense of the table. */
export function legendOf(kinds: readonly PeerKind[], settings: readonly string[], holdMs: number): string {
  const used = kinds.flatMap((kind) =>
    Object.entries(kind.settings)
      .filter(([name]) => settings.includes(name))
      .map(([name, how]) => `${kind.name}, ${name}: ${how}.`),
  );
  return [
    ...used,
    'A gap is the longest time without an acknowledgement of a client that writes every 20 ms; the steady one is that of the two seconds before the event.',
    `The coordination majority is away for ${holdMs / 1000} s: two of three members of etcd, sentinels, members of the etcd that Patroni decides by, acceptors.`,
    'All processes are on one machine: kill -9 loses what a process had not handed to the kernel, not what a disk or a network would lose. Asynchronous replication loses more where members are far apart.',
  ].join('\n');
}
