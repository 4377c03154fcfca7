/**
 * What `baton doctor` looks for. A check gets everything that was seen and returns what is wrong; each finding says what it
 * means and what to do, so that somebody who is woken at night need not know the design.
 */
import { type CertificateFacts, isLoopback } from '../../server/index.ts';
import type { LostWriteAt } from './cluster.ts';
import type { FoundCluster } from './find.ts';
import { lagOf, type ProblemKind, problemsOf, type Severity } from './health.ts';
import type { ClusterView } from './merge.ts';
import { millis, plural } from './output.ts';
import { timeOfId } from './stage.ts';

export interface Finding {
  readonly severity: Severity;
  readonly finding: string;
  readonly means: string;
  readonly remedy: string;
}

export interface Evidence {
  readonly view: ClusterView;
  readonly found: FoundCluster;
  /** Absent when no node could be asked. */
  readonly lostWrites?: readonly LostWriteAt[];
  /** Certificates in the files that the cluster file names, as far as they are here. */
  readonly certificates: readonly (CertificateFacts & { readonly file: string })[];
  readonly now: number;
  readonly maxLag: number;
}

export type Check = (evidence: Evidence) => readonly Finding[];

const NAMED = 5;

/** A few names, and how many more. */
function some(names: readonly string[]): string {
  const more = names.length - NAMED;
  return `${names.slice(0, NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function nodes({ view }: Evidence): Finding[] {
  return view.nodes
    .filter(({ isUp }) => !isUp)
    .map(({ name, region, reason }) => ({
      severity: 'critical',
      finding: `The node ${name} of ${region} does not answer: ${reason}.`,
      means: 'Its copies are not served and not kept up to date, or this machine cannot reach it.',
      remedy: `Start it (baton node --name ${name}), or look at the network between here and ${region}.`,
    }));
}

function links({ view }: Evidence): Finding[] {
  const up = new Set(view.nodes.filter(({ isUp }) => isUp).map(({ name }) => name));
  const cut = view.nodes.flatMap(({ name, facts }) =>
    (facts?.peers ?? [])
      .filter((peer) => !peer.isUp && up.has(peer.node))
      .map((peer) => `${name} to ${peer.node}`),
  );
  if (cut.length === 0) return [];
  return [
    {
      severity: 'critical',
      finding: `Nodes that are up do not reach each other: ${some(cut)}.`,
      means: 'Replication between them stands still; at Strong the region is taken out of the lease set.',
      remedy: 'Look at the network, firewalls and certificates between these nodes.',
    },
  ];
}

function acceptors({ view, found }: Evidence): Finding[] {
  const said = new Map<string, { up: string[]; down: string[] }>();
  for (const { name, facts } of view.nodes) {
    for (const { name: own, url, state } of facts?.acceptors ?? []) {
      if (state === 'unknown') continue;
      const key = own ?? found.config.acceptors.find((one) => one.url === url)?.name ?? url;
      const entry = said.get(key) ?? { up: [], down: [] };
      entry[state].push(name);
      said.set(key, entry);
    }
  }
  const total = Math.max(said.size, found.config.acceptors.length);
  const majority = Math.floor(total / 2) + 1;
  const down = [...said].filter(([, { up }]) => up.length === 0).map(([name]) => name);
  const torn = [...said].filter(([, { up, down: not }]) => up.length > 0 && not.length > 0);
  const findings: Finding[] = torn.map(([name, { down: not }]) => ({
    severity: 'warning',
    finding: `The acceptor ${name} is not reached from ${some(not)}.`,
    means: 'These nodes have fewer acceptors to lose than the others.',
    remedy: 'Look at the network between them and the acceptor.',
  }));
  findings.push(...waiting(view));
  if (down.length === 0) return findings;
  const left = total - down.length;
  const isLost = left < majority;
  return [
    {
      severity: isLost ? 'critical' : 'warning',
      finding: `${isLost ? 'A majority of acceptors is lost' : 'Acceptors are down'}: ${some(down)}; ${left} of ${total} are up.`,
      means: isLost
        ? `No lease can be renewed and nothing can fail over until ${majority} are up: writes stop.`
        : left === majority
          ? 'Failover works. One more, and it does not.'
          : `Failover works. ${plural(left - majority, 'more acceptor')} may be lost.`,
      remedy: isLost
        ? 'Start them on their old data. If the data is gone for good, see docs/operations.md.'
        : 'Start them on their old data, or put others in their place.',
    },
    ...findings,
  ];
}

/** They have not found a set of acceptors in force since they started. */
function waiting({ nodes: all }: ClusterView): Finding[] {
  const names = all
    .filter(({ facts }) => facts !== undefined && facts.acceptors.length > 0)
    .filter(({ facts }) => facts!.acceptors.every(({ state }) => state === 'unknown'))
    .map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    {
      severity: 'critical',
      finding: `${some(names)} wait for their acceptors.`,
      means: 'A node that starts serves nothing until it reaches a majority of acceptors.',
      remedy: 'Start the acceptors, or look at the network between them and these nodes.',
    },
  ];
}

interface Advice {
  readonly what: string;
  readonly means: string;
  readonly remedy: string;
}

const ADVICE: Readonly<Record<Exclude<ProblemKind, 'moving'>, Advice>> = {
  unseen: {
    what: 'Nobody who answers holds',
    means: 'Nothing is known about them.',
    remedy: 'Start the nodes that hold them (baton topology shows which do not answer).',
  },
  'no writer': {
    what: 'No write region has',
    means: 'They cannot be written. An election waits for an eligible region to report.',
    remedy:
      'Bring back a region of their lease set (baton topology). If those are gone for good: baton failover --to REGION --accept-loss.',
  },
  'no writes': {
    what: 'The write region takes no writes for',
    means:
      'It is dead, starting, or waits until older leases are over. Others take over when its lease has run out.',
    remedy:
      'Look again in a few seconds (baton list --watch). If it stays, look at that region and at the acceptors.',
  },
  'two writers': {
    what: 'Two regions say that they write',
    means: 'They were asked a moment apart, during a failover. At the same moment it must not be.',
    remedy: 'Look again. If it stays, stop one of the two nodes and report it as a defect.',
  },
  'too few copies': {
    what: 'The lease set is below the minimum durability in',
    means: 'Writes wait, because too few regions could confirm them.',
    remedy: 'Bring regions back, or lower it: baton config set minimumDurability=N.',
  },
  'region down': {
    what: 'A region is down in',
    means: 'One copy fewer; how many more may be lost shows baton doctor --if-dies REGION.',
    remedy: 'Start the region’s nodes, or look at why they do not report.',
  },
  starting: {
    what: 'A node is starting that holds',
    means: 'It has not seen their state yet.',
    remedy: 'Look again in a few seconds. If it stays, look at the acceptors that this node reaches.',
  },
  'region building': {
    what: 'A region is being built in',
    means: 'It copies the data and cannot be elected yet.',
    remedy: 'Wait; baton topology --watch shows how far it is.',
  },
  'outside lease set': {
    what: 'A live region is not in the lease set of',
    means: 'It serves no strong reads and cannot be elected.',
    remedy: 'Wait until it has caught up. If it stays, look at its lag (baton topology).',
  },
  behind: {
    what: 'A region has not seen the GCN in force in',
    means: 'Its node does not reach a majority of acceptors, or is slow.',
    remedy: 'Look again; if it stays, look at the acceptors that this node reaches.',
  },
};

function partitionSets({ view }: Evidence): Finding[] {
  const found = new Map<
    string,
    { kind: keyof typeof ADVICE; severity: Severity; region?: string; names: Set<string> }
  >();
  for (const one of view.partitionSets) {
    for (const { kind, severity, region } of problemsOf(one)) {
      if (kind === 'moving') continue;
      const key = `${kind}\t${region ?? ''}`;
      const entry = found.get(key) ?? {
        kind,
        severity,
        ...(region !== undefined && { region }),
        names: new Set(),
      };
      entry.names.add(one.name);
      found.set(key, entry);
    }
  }
  return [...found.values()].map(({ kind, severity, region, names }) => {
    const { what, means, remedy } = ADVICE[kind];
    const where = region === undefined ? '' : ` (${region})`;
    const finding = `${what} ${plural(names.size, 'partition-set')}${where}: ${some([...names])}.`;
    return { severity, finding, means, remedy };
  });
}

function lag({ view, maxLag }: Evidence): Finding[] {
  const worst = new Map<string, { entries: number; names: string[] }>();
  for (const one of view.partitionSets) {
    for (const region of Object.keys(one.state?.regions ?? {})) {
      const entries = lagOf(one, region)?.entries ?? 0;
      if (entries <= maxLag) continue;
      const entry = worst.get(region) ?? { entries: 0, names: [] };
      worst.set(region, { entries: Math.max(entry.entries, entries), names: [...entry.names, one.name] });
    }
  }
  return [...worst].map(([region, { entries, names }]) => ({
    severity: 'warning',
    finding: `${region} lags by up to ${plural(entries, 'write')} in ${plural(names.length, 'partition-set')}: ${some(names)}.`,
    means:
      'A planned move there waits until it has caught up; at weaker levels that much is lost if the writer dies.',
    remedy: 'Look at the disk and the network of that region.',
  }));
}

function disks({ view }: Evidence): Finding[] {
  return view.nodes.flatMap(({ name, facts }): Finding[] => {
    if (facts?.disk === undefined || facts.disk.totalBytes <= 0) return [];
    const { freeBytes, totalBytes } = facts.disk;
    const share = freeBytes / totalBytes;
    if (share >= 0.1) return [];
    return [
      {
        severity: share < 0.03 ? 'critical' : 'warning',
        finding: `The disk of ${name} is nearly full: ${(share * 100).toFixed(1)} % (${Math.round(freeBytes / 2 ** 20)} MiB) is free.`,
        means: 'Without room it takes no writes, and its region is replaced as write region.',
        remedy: 'Make room, or lower limits.logBytes in the cluster file.',
      },
    ];
  });
}

function versions({ view }: Evidence): Finding[] {
  const all = new Map<string, string[]>();
  for (const { name, facts } of view.nodes) {
    const version = facts?.version;
    if (version) all.set(version, [...(all.get(version) ?? []), name]);
  }
  if (all.size < 2) return [];
  const list = [...all].map(([version, names]) => `${version} (${some(names)})`).join(', ');
  return [
    {
      severity: 'warning',
      finding: `Nodes run different versions: ${list}.`,
      means: 'That is how it is during an upgrade. What is new is switched on when all have it.',
      remedy: 'Finish the upgrade.',
    },
  ];
}

const MOST_OFFSET_MS = 1000;

function clocks({ view }: Evidence): Finding[] {
  const known = view.nodes.flatMap(({ name, offsetMs, offsetErrorMs = 0 }) =>
    offsetMs === undefined ? [] : [{ name, low: offsetMs - offsetErrorMs, high: offsetMs + offsetErrorMs }],
  );
  const [behind] = known.toSorted((a, b) => a.high - b.high);
  const [ahead] = known.toSorted((a, b) => b.low - a.low);
  if (behind === undefined || ahead === undefined || ahead.low - behind.high <= MOST_OFFSET_MS) return [];
  return [
    {
      severity: 'warning',
      finding: `The clocks of ${behind.name} and ${ahead.name} differ by ${millis(ahead.low - behind.high)} or more.`,
      means: 'Nothing becomes unsafe: no decision rests on it. Times in histories and logs are misleading.',
      remedy: 'Let NTP or chrony set the clocks.',
    },
  ];
}

function pauses({ view }: Evidence): Finding[] {
  const names = view.partitionSets
    .filter(({ state }) => state?.pausedAutomatic === true)
    .map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    {
      severity: 'warning',
      finding: `Automatic failovers are paused in ${plural(names.length, 'partition-set')}: ${some(names)}.`,
      means: 'If their write region dies, they cannot be written until somebody acts.',
      remedy: 'baton resume',
    },
  ];
}

const PATIENCE_MS = 60_000;

function intents({ view, now }: Evidence): Finding[] {
  const hanging = view.partitionSets.flatMap(({ name, state }) =>
    (state?.intents.open ?? [])
      .filter(({ id }) => now - (timeOfId(id) ?? 0) > PATIENCE_MS)
      .map(
        ({ kind, who, target }) =>
          `${kind}${target === undefined ? '' : ` ${target}`} in ${name} (by ${who})`,
      ),
  );
  if (hanging.length === 0) return [];
  return [
    {
      severity: 'warning',
      finding: `Wishes of operators are open: ${some(hanging)}.`,
      means:
        'What they wait for has not happened: a region to catch up, a larger lease set, nobody to depend on a region.',
      remedy:
        'See what the region lacks (baton topology). A later wish of the same kind takes the place of an earlier one.',
    },
  ];
}

function lost({ lostWrites = [] }: Evidence): Finding[] {
  const open = lostWrites.filter(({ closed }) => closed == null);
  if (open.length === 0) return [];
  const where = new Set(open.map(({ partitionSet }) => partitionSet));
  return [
    {
      severity: 'warning',
      finding: `${plural(open.length, 'lost write')} in ${some([...where])} wait for somebody to look at them.`,
      means: 'A failover undid what a region had taken. At Strong nobody was told that it was written.',
      remedy: 'baton lost-writes, then baton lost-writes reapply or dismiss.',
    },
  ];
}

const DAY_MS = 24 * 3_600_000;
const SOON_DAYS = 30;
const VERY_SOON_DAYS = 7;

function certificates({ view, certificates: files, now }: Evidence): Finding[] {
  const shown = view.nodes.flatMap(({ name, certificateEnds: ends }) =>
    ends === undefined ? [] : [{ name: `of ${name}`, ends }],
  );
  const here = files.map(({ file, expires }) => ({ name: `in ${file}`, ends: expires }));
  return [...shown, ...here].flatMap(({ name, ends }): Finding[] => {
    const days = Math.floor((Date.parse(ends) - now) / DAY_MS);
    if (days >= SOON_DAYS) return [];
    return [
      {
        severity: days < VERY_SOON_DAYS ? 'critical' : 'warning',
        finding:
          days < 0
            ? `The certificate ${name} has expired.`
            : `The certificate ${name} ends in ${plural(days, 'day')}.`,
        means: 'From then on nobody connects with it.',
        remedy: 'Issue another (baton certs issue NAME --force), and restart the nodes one after another.',
      },
    ];
  });
}

function openDoors({ found: { config } }: Evidence): Finding[] {
  if (config.tls !== undefined) return [];
  const doors = config.regions.flatMap(({ nodes: all }) =>
    all.filter(({ listen, http }) => !isLoopback(listen.host) || (http && !isLoopback(http.host))),
  );
  if (doors.length === 0) return [];
  return [
    {
      severity: 'critical',
      finding: `There is no TLS, and nodes are told to listen beyond loopback: ${some(doors.map(({ name }) => name))}.`,
      means: 'Whoever reaches these ports could read along; nodes refuse to start so.',
      remedy: 'Make certificates (baton certs), and name them under `tls` in the cluster file.',
    },
  ];
}

/** In the order in which they are printed. */
export const CHECKS: Readonly<Record<string, Check>> = {
  nodes,
  acceptors,
  'partition-sets': partitionSets,
  links,
  lag,
  disks,
  versions,
  clocks,
  pauses,
  intents,
  'lost writes': lost,
  certificates,
  'open doors': openDoors,
};
