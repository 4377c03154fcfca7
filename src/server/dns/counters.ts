/** What a DNS server has done, for its metrics. */
import { type Rcode, RCODES } from './query.ts';

export interface DnsCounters {
  /** Answered, by the code of the answer. */
  readonly answers: Readonly<Record<Rcode, number>>;
  readonly udp: number;
  readonly tcp: number;
  /** Answers that sent the client to TCP. */
  readonly truncated: number;
  /** Messages that got no answer: not a query, or too short to tell. */
  readonly ignored: number;
  /** Answers that could not be sent, or that nobody took. */
  readonly dropped: number;
  /** TCP connections now. */
  readonly connections: number;
  /** Ended by the server: silent for too long, too many at once, or not speaking DNS. */
  readonly connectionsEnded: number;
}

export type MutableCounters = {
  -readonly [Name in Exclude<keyof DnsCounters, 'answers'>]: DnsCounters[Name];
} & { readonly answers: Record<Rcode, number> };

export function newCounters(): MutableCounters {
  const answers = Object.fromEntries(Object.keys(RCODES).map((rcode) => [rcode, 0])) as Record<Rcode, number>;
  return {
    answers,
    udp: 0,
    tcp: 0,
    truncated: 0,
    ignored: 0,
    dropped: 0,
    connections: 0,
    connectionsEnded: 0,
  };
}
