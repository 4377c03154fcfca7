/** The DNS server's metrics, in the registry of its process. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { DnsCounters } from './counters.ts';

const HELP = {
  udp: 'Messages that came over UDP',
  tcp: 'Messages that came over TCP',
  truncated: 'Answers that were too large for UDP and sent the client to TCP',
  ignored: 'Messages that got no answer: answers themselves, or too short',
  dropped: 'Answers that could not be sent',
  connectionsEnded: 'TCP connections that the server ended: silent, too many, or not DNS',
} as const satisfies Partial<Record<keyof DnsCounters, string>>;

const NAMES: Readonly<Record<keyof typeof HELP, string>> = {
  udp: 'baton_dns_udp_messages_total',
  tcp: 'baton_dns_tcp_messages_total',
  truncated: 'baton_dns_truncated_total',
  ignored: 'baton_dns_ignored_total',
  dropped: 'baton_dns_dropped_total',
  connectionsEnded: 'baton_dns_connections_ended_total',
};

export function registerDnsMetrics(registry: Registry, counters: () => DnsCounters): void {
  const registers = [registry];
  for (const key of Object.keys(HELP) as (keyof typeof HELP)[]) {
    const counter: Counter = new Counter({
      name: NAMES[key],
      help: HELP[key],
      registers,
      collect: () => {
        counter.reset();
        counter.inc(counters()[key]);
      },
    });
  }
  const answers: Counter<'rcode'> = new Counter({
    name: 'baton_dns_answers_total',
    help: 'Answers, by their code',
    labelNames: ['rcode'],
    registers,
    collect: () => {
      answers.reset();
      for (const [rcode, count] of Object.entries(counters().answers)) answers.inc({ rcode }, count);
    },
  });
  const connections: Gauge = new Gauge({
    name: 'baton_dns_connections',
    help: 'TCP connections now',
    registers,
    collect: () => connections.set(counters().connections),
  });
}
