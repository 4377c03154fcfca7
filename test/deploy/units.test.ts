import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROFILES } from '../../src/failover/index.ts';
import { notRun } from '../support/not-run.ts';
import { repositoryTree, textOf } from '../repository/tree.ts';
import { DEPLOY, deployed, documented } from './files.ts';

const PROGRAM = '/usr/local/bin/baton';
const UNITS = readdirSync(DEPLOY).filter((name) => name.endsWith('.service'));
const KEEPERS = ['baton-acceptor@.service', 'baton-node@.service'];
const LACKING = {
  what: 'systemd-analyze is not on the PATH',
  how: 'Debian and Ubuntu: apt-get install systemd',
};

function hasAnalyzer(): boolean {
  return spawnSync('systemd-analyze', ['--version']).status === 0;
}

/** What systemd says about a unit, in a copy whose program is there. Nothing, if it is a good one. */
function complaintsAbout(unit: string, text: string): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'baton-units-'));
  try {
    const path = join(directory, unit);
    writeFileSync(path, text.replaceAll(PROGRAM, process.execPath));
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', path], {
      encoding: 'utf8',
    });
    const [stem] = unit.split(/[@.]/);
    const said = `${stdout}${stderr}`.split('\n').filter((line) => line.includes(stem!));
    return status === 0 ? said : [...said, `exit code ${status}`];
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function roleOf(unit: string): string {
  return /^baton-(\w+)/.exec(unit)![1]!;
}

/** The settings of a unit. One that is said twice has both values. */
function settingsOf(unit: string): Readonly<Record<string, string>> {
  const settings: Record<string, string> = {};
  for (const [, name = '', value = ''] of deployed(unit).matchAll(/^(\w+)=(.*)$/gm))
    settings[name] = name in settings ? `${settings[name]} ${value}` : value;
  return settings;
}

describe('the units of systemd', () => {
  test('are there for every role', () => {
    expect(UNITS.toSorted()).toEqual([
      'baton-acceptor@.service',
      'baton-dns.service',
      'baton-gateway@.service',
      'baton-node@.service',
    ]);
  });

  test.for(UNITS)('%s is one that systemd understands', (unit, context) => {
    if (!hasAnalyzer()) notRun(context, LACKING);
    expect(complaintsAbout(unit, deployed(unit))).toEqual([]);
  });

  test.for<[what: string, from: RegExp, to: string]>([
    ['a setting that does not exist', /^KillMode=/m, 'KilMode='],
    ['a value that cannot be', /^TimeoutStopSec=.*$/m, 'TimeoutStopSec=soon'],
    ['a program that is not there', /^ExecStart=\S+/m, 'ExecStart=/nowhere/baton'],
  ])('a unit with %s is caught', ([, from, to], context) => {
    if (!hasAnalyzer()) notRun(context, LACKING);
    const unit = 'baton-node@.service';
    expect(complaintsAbout(unit, deployed(unit).replace(from, to))).not.toEqual([]);
  });

  test.each(UNITS)('%s starts its role from the cluster file, and stops as the role expects', (unit) => {
    const { ExecStart, ...settings } = settingsOf(unit);
    const name = unit.includes('@') ? ' --name %i' : '';
    const start = `${PROGRAM} ${roleOf(unit)} --config /etc/baton/baton.yaml${name}`;
    expect(`${ExecStart} `).toMatch(new RegExp(`^${start} `));
    expect(settings).toMatchObject({
      Type: 'exec',
      KillSignal: 'SIGTERM',
      KillMode: 'mixed',
      Restart: 'always',
      StartLimitIntervalSec: '0',
      WantedBy: 'multi-user.target',
    });
  });

  test.each(UNITS)('%s sends SIGHUP exactly if the role listens to it: others would end by it', (unit) => {
    const listens = textOf(repositoryTree(), `src/cli/${roleOf(unit)}.ts`).includes("'SIGHUP'");
    expect(settingsOf(unit)['ExecReload']).toBe(listens ? '/bin/kill -HUP $MAINPID' : undefined);
  });

  test.each(UNITS)('%s gives the process no more than it needs', (unit) => {
    const { LimitNOFILE, SystemCallFilter, ...settings } = settingsOf(unit);
    expect(settings).toMatchObject({
      User: 'baton',
      NoNewPrivileges: 'yes',
      ProtectSystem: 'strict',
      ProtectHome: 'yes',
      PrivateTmp: 'yes',
      CapabilityBoundingSet: KEEPERS.includes(unit) ? '' : 'CAP_NET_BIND_SERVICE',
    });
    expect(Number(LimitNOFILE)).toBeGreaterThanOrEqual(16_384);
    expect(SystemCallFilter).toContain('@system-service');
    // The JavaScript engine does not start with it.
    expect(settings).not.toHaveProperty('MemoryDenyWriteExecute');
  });

  test.each(KEEPERS)('%s keeps its data where only it can read, one directory for each name', (unit) => {
    const settings = settingsOf(unit);
    expect(settings).toMatchObject({ StateDirectory: 'baton/%i', StateDirectoryMode: '0700' });
    // Whether the owner of a data directory still runs is read in /proc: hidden, two processes could own it.
    expect(settings).not.toHaveProperty('ProcSubset');
    expect(settings).not.toHaveProperty('ProtectProc');
  });

  test('a node has time to move its writes away, before it is killed', () => {
    const { ExecStart, TimeoutStopSec } = settingsOf('baton-node@.service');
    const withinMs = Number(/--stop-within (\d+)/.exec(ExecStart!)![1]);
    // A node takes half of it for the move, and a move of the slow profile may take a third of its lease.
    expect(withinMs / 2).toBeGreaterThanOrEqual(PROFILES.paper.leaseMs / 3);
    expect(Number(TimeoutStopSec) * 1000).toBeGreaterThanOrEqual(2 * withinMs);
  });

  test('a gateway has time to answer what was begun, before it is killed', () => {
    const { ExecStart, TimeoutStopSec } = settingsOf('baton-gateway@.service');
    const withinMs = Number(/--stop-within (\d+)/.exec(ExecStart!)![1]);
    expect(Number(TimeoutStopSec) * 1000).toBeGreaterThan(withinMs);
  });

  test('the documentation names each', () => {
    const text = documented('operations.md');
    expect(UNITS.filter((unit) => !text.includes(unit.replace(/\.service$/, '')))).toEqual([]);
  });
});
