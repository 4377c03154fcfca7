/** The DNS server of the accounts. */
export {
  accountRecordOf,
  type DnsSettings,
  following,
  readDnsSettings,
  recordsOf,
} from './cluster-records.ts';
export type { DnsCounters } from './counters.ts';
export { DnsServer, type DnsServerOptions } from './dns-server.ts';
export { registerDnsMetrics } from './metrics.ts';
