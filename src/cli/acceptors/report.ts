/** What `baton acceptors check` prints. */
import { type Paint, plural, pretty, type Report, right, table, type Tone } from '../operate/output.ts';
import type { Permissions } from './permissions.ts';
import { DOCUMENT_BYTES, type CheckResult, type Findings } from './survey.ts';
import type { Warning } from './together.ts';
import { CHECK_PREFIX, LEFTOVERS } from './workplace.ts';
import { CHECK_REGISTER } from './service-checks.ts';

export interface AcceptorReport extends Findings {
  /** Without credentials. */
  readonly url: string;
  readonly kind: string;
  readonly verdict: 'ok' | 'failed';
  /** It could not be reached, or did not answer. */
  readonly error?: { readonly code: string; readonly message: string };
  readonly where: string;
  readonly verified: readonly string[];
  readonly seeTo: readonly string[];
  readonly permissions: Permissions;
  readonly warnings: readonly string[];
}

export interface CheckReport {
  readonly acceptors: readonly AcceptorReport[];
  /** About all of them together. */
  readonly warnings: readonly Warning[];
}

/** Beside one document of this size for each partition-set: the identity, and the registers of the library's own. */
const STORED = {
  keys: [
    'identity',
    'register/failover/PARTITION-SET',
    'register/.baton.configuration',
    `${CHECK_PREFIX}...`,
  ],
  bytesPerPartitionSet: DOCUMENT_BYTES,
} as const;

export function reportOf({ acceptors, warnings }: CheckReport): Report {
  return {
    value: { ok: acceptors.every(({ verdict }) => verdict === 'ok'), acceptors, warnings, stored: STORED },
    table: table(
      ['URL', 'CHECK', 'RESULT', 'REMARK'],
      acceptors.flatMap(({ url, error, checks }) => [
        ...(error === undefined
          ? []
          : [{ cells: [url, 'connect', 'failed', `${error.message} [${error.code}]`] }]),
        ...checks.map(({ name, result, remark = '' }) => ({ cells: [url, name, result, remark] })),
      ]),
    ),
    pretty: (paint) =>
      `${acceptors.map((one) => blockOf(one, paint)).join('\n')}\n${endOf(acceptors, warnings, paint)}`,
  };
}

function blockOf(one: AcceptorReport, paint: Paint): string {
  const { url, kind, verdict, error } = one;
  const head = paint(
    `${url}  ${kind}: ${verdict === 'ok' ? 'ok' : 'FAILED'}`,
    verdict === 'ok' ? 'good' : 'bad',
  );
  const body = error === undefined ? seen(one, paint) : indent(`${error.message} [${error.code}]`);
  return `${head}\n${body}${explained(one, paint)}`;
}

function seen({ member, checks, latencies, requests }: AcceptorReport, paint: Paint): string {
  const state =
    member === undefined
      ? 'empty: no acceptor yet'
      : `acceptor ${member.id}, ${member.set === 0 ? 'in no set yet' : `in set ${member.set}`}, ${member.holdsRegisters ? 'holds registers' : 'no registers'}`;
  const lines = checks.map((check) => lineOf(check, paint)).join('');
  const times = table(
    ['LATENCY', right('P50'), right('P99'), right('SAMPLES')],
    latencies.map(({ what, p50Ms, p99Ms, samples }) => ({
      cells: [what, shortMs(p50Ms), shortMs(p99Ms), String(samples)],
    })),
  );
  const cost = requests === undefined ? '' : indent(`${plural(requests, 'request')} for this check`);
  return `${indent(state)}${lines}${latencies.length === 0 ? '' : indent(pretty(times, paint).trimEnd())}${cost}`;
}

const MARKS: Readonly<Record<CheckResult['result'], readonly [string, Tone]>> = {
  passed: ['ok', 'good'],
  failed: ['FAILED', 'bad'],
  'not done': ['not done', 'warning'],
};

function lineOf({ name, says, result, remark }: CheckResult, paint: Paint): string {
  const [mark, tone] = MARKS[result];
  const line = indent(paint(`${mark.padEnd(8)}  ${name}: ${says}`, tone));
  return remark === undefined ? line : `${line}${indent(`          ${remark}`)}`;
}

function explained({ where, verified, seeTo, permissions, warnings }: AcceptorReport, paint: Paint): string {
  const { needs, grant } = permissions;
  const section = (title: string, lines: readonly string[]): string =>
    lines.length === 0 ? '' : indent(`${title}\n${lines.map((line) => `  ${line}`).join('\n')}`);
  return [
    section('Will be stored', [
      `in ${where}`,
      `under the keys ${STORED.keys.join(', ')}`,
      `a document of up to ${DOCUMENT_BYTES / 1000} kB for each partition-set in three regions, and two more`,
    ]),
    section(`Permission needed: ${needs}`, grant),
    section('Looked at on every connection, and every few seconds', verified),
    section('To see to', seeTo),
    ...warnings.map((warning) => indent(paint(`Warning: ${warning}`, 'warning'))),
  ].join('');
}

function endOf(acceptors: readonly AcceptorReport[], warnings: readonly Warning[], paint: Paint): string {
  const said = warnings.map(({ code, text }) => paint(`Warning: ${text} [${code}]\n`, 'warning')).join('');
  const bad = acceptors.filter(({ verdict }) => verdict === 'failed').length;
  const left =
    `The checks leave at most ${LEFTOVERS.documents} documents (${LEFTOVERS.kilobytes} kB) under ${CHECK_PREFIX} in a store, and the empty ` +
    `register ${CHECK_REGISTER} in a service. No acceptor looks at them, and the next check writes over them.\n`;
  const verdict =
    bad === 0
      ? paint(`${plural(acceptors.length, 'acceptor')}: nothing is wrong.\n`, 'good')
      : paint(`${bad} of ${plural(acceptors.length, 'acceptor')} failed: not to be used like this.\n`, 'bad');
  return `${said}${left}${verdict}`;
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `  ${line}\n`)
    .join('');
}

function shortMs(ms: number): string {
  return ms < 10 ? `${ms.toFixed(2)} ms` : ms < 1000 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(2)} s`;
}
