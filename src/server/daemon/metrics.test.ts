/** docs/metrics.md lists every metric of every process, as the processes themselves describe them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import { plain, readPart, rewriteIfAsked } from '../../../test/failover/documents.ts';
import { Daemons, placeOf } from '../../../test/server/daemons.ts';
import { until } from '../../../test/support/until.ts';
import { AcceptorServer, DiskAcceptor } from '../../caspaxos/index.ts';
import type { ClusterMap } from '../../client/index.ts';
import { DnsServer, registerDnsMetrics } from '../dns/index.ts';
import { GatewayMetrics } from '../gateway/metrics.ts';

const FILE = 'docs/metrics.md';

/** A table of what the text of a registry says; labels are those that its lines have. */
function tableOf(text: string): string {
  const rows: string[] = [];
  for (const [, name = '', help = ''] of text.matchAll(/^# HELP (\S+) (.*)$/gm)) {
    if (!name.startsWith('baton_')) continue;
    const type = new RegExp(`^# TYPE ${name} (\\w+)$`, 'm').exec(text)?.[1] ?? '';
    const lines = [...text.matchAll(new RegExp(`^${name}(?:_bucket)?\\{([^}]*)\\}`, 'gm'))];
    const labels = new Set(
      lines.flatMap(([, given = '']) => [...given.matchAll(/(\w+)="/g)].map(([, one]) => one!)),
    );
    labels.delete('le');
    rows.push(
      `| \`${name}\` | ${type} | ${[...labels].map((label) => `\`${label}\``).join(', ')} | ${help} |`,
    );
  }
  return ['| metric | type | labels | what it counts |', '|---|---|---|---|', ...rows].join('\n');
}

function expectDocumented(name: string, text: string): void {
  const table = tableOf(text);
  expect(table.split('\n').length).toBeGreaterThan(5);
  rewriteIfAsked({ file: FILE, name, text: table });
  expect(readPart(FILE, name)).toBe(plain(table));
}

describe('metrics', () => {
  let there: Daemons | undefined;
  afterEach(async () => {
    await there?.end();
    there = undefined;
  });

  const scrape = async (region: 'west' | 'east'): Promise<string> =>
    (await fetch(`http://127.0.0.1:${there!.ports.http[region]}/metrics`)).text();

  test('of a node: what it did is counted, and all of them are documented', async () => {
    there = await Daemons.running();
    const map = (await there.get('west', '/v1/map')).json as ClusterMap;
    const [west, east] = [await there.client('west'), await there.client('east')];
    const set = placeOf(map, 'a');
    await west.put(set, 'a');
    await west.put(set, 'a');
    await west.put('none', 'a');
    await west.get(set, 'a');
    await east.put(set, 'a');
    await until('the north follows', async () =>
      (await scrape('west')).includes('baton_engine_replication_followers{peer="north"} 2'),
    );
    const text = await scrape('west');
    for (const line of [
      'baton_engine_requests_total{kind="write",outcome="done"} 2',
      'baton_engine_requests_total{kind="write",outcome="UNKNOWN_PARTITION_SET"} 1',
      'baton_engine_requests_total{kind="read",outcome="done"} 1',
      'baton_engine_commit_seconds_count 2',
      'baton_engine_read_seconds_count 1',
      'baton_engine_partitions{build="Built"} 2',
      'baton_engine_undone_writes 0',
      'baton_engine_disk_well 1',
      'baton_rpc_callers{role="client"} 1',
      'baton_rpc_peer_up{peer="east"} 1',
      'baton_node_ready 1',
      'baton_node_acceptors_down 0',
    ])
      expect(text.split('\n')).toContain(line);
    expect(await scrape('east')).toContain(
      'baton_engine_requests_total{kind="write",outcome="NOT_WRITER"} 1',
    );
    expect(text).not.toContain(set);
    expectDocumented('node-metrics', text);
  });

  test('of an acceptor', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'baton-metrics-'));
    const acceptor = await DiskAcceptor.open({ directory });
    const server = await AcceptorServer.listen(acceptor, { host: '127.0.0.1', port: 0 });
    expectDocumented('acceptor-metrics', await (await fetch(`${server.url}/metrics`)).text());
    await server.close();
    await acceptor.close();
    rmSync(directory, { recursive: true });
  });

  test('of the DNS server', async () => {
    const server = await DnsServer.listen({
      host: '127.0.0.1',
      port: 0,
      zone: 'x',
      records: () => new Map(),
    });
    const registry = new Registry();
    registerDnsMetrics(registry, () => server.counters);
    expectDocumented('dns-metrics', await registry.metrics());
    await server.close();
  });

  test('of a gateway', async () => {
    const registry = new Registry();
    const gauges = { inFlight: () => 0, throttled: () => 0, isReady: () => true };
    const metrics = new GatewayMetrics(registry, { now: () => 0 }, gauges);
    metrics.ended('docs', 'GET', 200, 3);
    expectDocumented('gateway-metrics', await registry.metrics());
  });
});
