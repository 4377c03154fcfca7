/** Links that are cut: both ways, one way, and what is left of the network afterwards. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { notRun } from '../../../test/support/not-run.ts';
import { until } from '../../../test/support/until.ts';
import { nodesOf } from '../config/index.ts';
import { operatorTls } from './certificates.ts';
import { LocalCluster } from './index.ts';

const WAIT_MS = 120_000;

let directory: string;
let cluster: LocalCluster | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-netns-'));
});

afterEach(async () => {
  await cluster?.killAll();
  cluster = undefined;
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

function canMakeNamespaces(): boolean {
  try {
    execFileSync('unshare', ['-n', '--', 'ip', 'link', 'add', 'va', 'type', 'veth', 'peer', 'name', 'vb'], {
      stdio: 'ignore',
    });
    execFileSync('nsenter', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** With their hardware addresses: another cluster may take the name next. */
const interfaces = (): string[] => execFileSync('ip', ['-br', 'link']).toString().split('\n');

function asked({ config, operatorToken }: LocalCluster, region: string, path: string): Promise<string> {
  const { host, port } = nodesOf(config).find((node) => node.region === region)!.http!;
  const headers = { authorization: `Bearer ${operatorToken}` };
  return new Promise((resolve, reject) => {
    get({ host, port, path, headers, agent: false, ...operatorTls(directory) }, (response) => {
      text(response).then(resolve, reject);
    }).on('error', reject);
  });
}

test('a region that is cut off is replaced, in each direction, and comes back when it is healed', async (context) => {
  if (!canMakeNamespaces())
    notRun(context, {
      what: 'network namespaces cannot be made here',
      how: 'run as root on Linux, with iproute2 and util-linux',
    });
  cluster = new LocalCluster({
    directory,
    regions: 3,
    acceptors: 3,
    partitionSets: 2,
    portBase: 'free',
    namespaces: true,
    gateways: true,
  });
  await cluster.start();
  await cluster.waitForWriters(['west'], WAIT_MS);
  // A node reaches whoever runs the cluster from its network.
  expect(JSON.parse(await asked(cluster, 'east', '/v1/local'))).toMatchObject({ canCut: true });
  await cluster.cut('west', { from: 'regions' });
  expect(cluster.healthyRegions).toEqual(['east', 'north']);
  // Its gateway is in its network.
  expect(await cluster.heal()).toEqual({ processes: ['west-1', 'west-gateway'] });
  await expect(cluster.cut(['west', 'gateway'])).rejects.toMatchObject({ code: 'CUT_UNAVAILABLE' });
  expect(cluster.healthyRegions).toEqual(['west', 'east', 'north']);
  for (const order of [{}, { from: 'acceptors', direction: 'out' }, { direction: 'in' }] as const) {
    await cluster.cut('west', order);
    expect(cluster.healthyRegions).toEqual(['east', 'north']);
    await cluster.waitForWriters(['east', 'north'], WAIT_MS);
    await cluster.heal('west');
    await cluster.waitForWriters(['west'], WAIT_MS);
  }
  const network = cluster.config.regions[0]!.nodes[0]!.address.host.split('.')[1]!;
  const link = interfaces().find((line) => line.startsWith(`bt${network}@`));
  expect(link).toBeDefined();
  await cluster.stop();
  await until('its link is gone', () => !interfaces().includes(link!));
});
