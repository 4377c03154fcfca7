/**
 * What `baton doctor` looks for. A check gets everything that was seen and returns what is wrong; each finding says what it
 * means and what to do, so that somebody who is woken at night need not know the design.
 */
import type { CertificateFacts } from '../../server/certs/index.ts';
import { isLoopback } from '../../server/config/index.ts';
import { type FoundCluster, starting } from './find.ts';
import { gatewayFinding, type ShutGateway } from './gateways.ts';
import { lagOf, type PartitionProblem, type ProblemKind, problemsOf, type Severity } from './health.ts';
import { lost } from './losses.ts';
import type { ClusterView } from './merge.ts';
import { byWriter } from './moves.ts';
import { millis, plural, someOf } from './output.ts';
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
  /** A cluster of `baton up`, which has ended, and its processes with it: where its data is. */
  readonly stoppedIn?: string;
  readonly shutGateways: readonly ShutGateway[];
  /** Certificates in the files that the cluster file names, as far as they are here. */
  readonly certificates: readonly (CertificateFacts & { readonly file: string })[];
  readonly now: number;
  readonly maxLag: number;
}

export type Check = (evidence: Evidence) => readonly Finding[];

/** Why a node does not answer, and what can be done about it. */
const SILENCES: readonly { readonly is: RegExp; readonly means: string; readonly remedy: string }[] = [
  {
    is: /answers there$/,
    means: 'The cluster file leads to another process; nothing is known of this node.',
    remedy: 'Correct the http address of the node in the cluster file, or start the node that belongs there.',
  },
  {
    is: /^timed out$/,
    means: 'It hangs or is stopped, or what is sent to it gets lost. Its copies are not kept up to date.',
    remedy:
      'Look at its process (stopped, or without processor time or memory?) and start it again, or look at the network.',
  },
  {
    is: /^not understood/,
    means: 'What answers there is no node, or one of a version that this command does not know.',
    remedy: 'Look at the http address in the cluster file, and use the baton command of the nodes’ version.',
  },
  {
    is: /certificate|TLS/,
    means: 'Nothing can be asked of it from here. Whether it serves, other nodes know.',
    remedy: 'See that tls in the cluster file names the authority of the nodes: baton certs show FILE.',
  },
];

function nodes(evidence: Evidence): Finding[] {
  const { view, found, stoppedIn } = evidence;
  if (stoppedIn !== undefined) return [stopped(found, stoppedIn)];
  const silent = view.nodes.filter(({ isUp, isRefused }) => !isUp && isRefused !== true);
  return [
    ...refusing(evidence),
    ...silent.map(({ name, region, reason = '', http }): Finding => {
      const usual = {
        means: `Its copies are not served and not kept up to date, or only this machine cannot reach it. ${whereWritten(view)}`,
        remedy: `Start it (${starting(found, 'node', name)}), or look at the network between here and ${region}.`,
      };
      const known = SILENCES.find(({ is }) => is.test(reason)) ?? usual;
      const where = http === undefined ? '' : ` at ${http.host}:${http.port}`;
      return {
        severity: 'critical',
        finding: `The node ${name} of ${region} does not answer${where}: ${unended(reason)}.`,
        means: known.means,
        remedy: known.remedy,
      };
    }),
  ];
}

function stopped({ name, dataFlag }: FoundCluster, directory: string): Finding {
  return {
    severity: 'critical',
    finding: `The cluster ${name} is not running.`,
    means: `All its processes have ended. Its data is kept in ${directory}.`,
    remedy: `Start it again: \`baton up${dataFlag}\`.`,
  };
}

/** What goes on in spite of it. */
function whereWritten({ partitionSets: all }: ClusterView): string {
  const written = all.filter(({ state, writers }) => writers.includes(state?.writeRegion ?? ''));
  const where = written.length === 0 ? '' : ` (${byWriter(written)})`;
  return `Writes are accepted in ${written.length} of ${plural(all.length, 'partition-set')}${where}.`;
}

/** They answer, and want to know who asks. */
function refusing({ view, found: { config } }: Evidence): Finding[] {
  const all = view.nodes.filter(({ isRefused }) => isRefused === true);
  if (all.length === 0) return [];
  const names = someOf(all.map(({ name }) => name));
  const token =
    config.tokens.operator === undefined
      ? `Name the operators’ token under tokens.operator in ${config.path}`
      : `See that tokens.operator in ${config.path} leads to the token that the nodes have`;
  const certificate =
    config.tls === undefined ? '' : ', or make a certificate of their authority (baton certs issue operator)';
  return [
    {
      severity: 'critical',
      finding: `${names} ${all.length === 1 ? 'does' : 'do'} not let this operator in: ${unended(all[0]!.reason ?? '')}.`,
      means: 'They run; what they know cannot be seen from here, and nothing can be asked of them.',
      remedy: `${token}${certificate}.`,
    },
  ];
}

function unended(sentence: string): string {
  return sentence.replace(/\.$/, '');
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
      finding: `Nodes that are up do not reach each other: ${someOf(cut)}.`,
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
  const down = [...said].filter(([, { up }]) => up.length === 0).map(([name]) => name);
  const torn = [...said].filter(([, { up, down: not }]) => up.length > 0 && not.length > 0);
  const findings: Finding[] = torn.map(([name, { down: not }]) => ({
    severity: 'warning',
    finding: `The acceptor ${name} is not reached from ${someOf(not)}.`,
    means: 'These nodes have fewer acceptors to lose than the others.',
    remedy: 'Look at the network between them and the acceptor.',
  }));
  findings.push(...waiting(view));
  return down.length === 0 ? findings : [lostAcceptors(down, total, found), ...findings];
}

function lostAcceptors(down: readonly string[], total: number, found: FoundCluster): Finding {
  const majority = Math.floor(total / 2) + 1;
  const left = total - down.length;
  const start = `Start ${down.length === 1 ? 'it on its' : 'them on their'} old data (${howToStart(down[0]!, found)})`;
  if (left < majority) {
    return {
      severity: 'critical',
      finding: `A majority of acceptors is lost (${someOf(down)}): ${left} of ${total} are up.`,
      means: `No lease can be renewed and nothing can fail over until ${majority} are up: writes stop.`,
      remedy: `${start}. If the data is gone for good, see "Acceptors are lost" in docs/operations.md.`,
    };
  }
  return {
    severity: 'warning',
    finding: `The ${down.length === 1 ? 'acceptor' : 'acceptors'} ${someOf(down)} ${down.length === 1 ? 'is' : 'are'} down: ${left} of ${total} are up.`,
    means:
      left === majority
        ? 'Writes and failovers go on. If one more is lost, both stop.'
        : `Writes and failovers go on, even if ${plural(left - majority, 'more acceptor')} ${left - majority === 1 ? 'is' : 'are'} lost.`,
    remedy: `${start}, or put ${down.length === 1 ? 'another in its' : 'others in their'} place (docs/operations.md).`,
  };
}

/** A store is somebody else's server: we know where it is, not how it is started. */
function howToStart(name: string, found: FoundCluster): string {
  const acceptor = found.config.acceptors.find((one) => one.name === name);
  const isService = acceptor === undefined || /^https?:/.test(acceptor.url);
  return isService
    ? starting(found, 'acceptor', name)
    : `\`baton acceptors check ${acceptor.url}\` tells what ails it`;
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
      finding: `${someOf(names)} ${names.length === 1 ? 'waits for its' : 'wait for their'} acceptors.`,
      means: 'A node that starts serves nothing until it reaches a majority of acceptors.',
      remedy: 'Start the acceptors, or look at the network between them and these nodes.',
    },
  ];
}

interface Advice {
  /** Before the number and the names of the partition-sets. */
  readonly what: (region: string) => string;
  readonly means: string;
  readonly remedy: string;
}

const ADVICE: Readonly<Record<Exclude<ProblemKind, 'moving'>, Advice>> = {
  unseen: {
    what: () => 'No reachable node knows the state of',
    means: 'Whether they can be written is not known.',
    remedy: 'Start the nodes that hold them (baton topology shows which do not answer).',
  },
  'no writer': {
    what: () => 'There is no write region for',
    means: 'They cannot be written. An election waits for an eligible region to report.',
    remedy:
      'Bring back a region of their lease set (baton topology). If those are gone for good: baton failover --to REGION --accept-loss.',
  },
  'no writes': {
    what: (region) => `The write region ${region} takes no writes for`,
    means:
      'They cannot be written now: it is dead, starting, or was elected a moment ago. When its lease has run out another takes over, unless failovers are paused or a majority of acceptors is lost.',
    remedy:
      'Look again in a few seconds (baton list --watch). If it stays, see what is found about its node and the acceptors.',
  },
  'two writers': {
    what: () => 'Two regions say that they take the writes of',
    means: 'They were asked a moment apart, during a failover. At the same moment it must not be.',
    remedy: 'Look again. If it stays, stop one of the two nodes and report it as a defect.',
  },
  'too few copies': {
    what: () => 'The lease set is below the minimum durability in',
    means: 'Writes wait, because too few regions could confirm them.',
    remedy: 'Bring regions back, or lower it: baton config set minimumDurability=N.',
  },
  'region down': {
    what: (region) => `${region} does not report in`,
    means: 'One copy fewer; how many more may be lost shows baton doctor --if-dies REGION.',
    remedy:
      'Look at the log of its node, and at the acceptors that this node reaches (baton topology -f yaml).',
  },
  starting: {
    what: (region) => `The node of ${region} is starting and has not seen the state of`,
    means: 'It has no part in them yet.',
    remedy: 'Look again in a few seconds. If it stays, look at the acceptors that this node reaches.',
  },
  'region building': {
    what: (region) => `${region} is being built in`,
    means: 'It copies the data and cannot be elected yet.',
    remedy: 'Wait; baton topology --watch shows how far it is.',
  },
  'data lost': {
    what: (region) => `The write region ${region} has lost the data of`,
    means:
      'Its disk came back empty, or older than what it had reported. It takes no writes, and is replaced as soon as a region that has the data can be elected.',
    remedy:
      'Start the other regions of the lease set (baton topology). If they are gone for good: baton failover --to REGION --accept-loss. If there is no other region, recreate the container from a backup.',
  },
  'outside lease set': {
    what: (region) => `${region} is alive and not in the lease set of`,
    means: 'It serves no strong reads and cannot be elected.',
    remedy: 'Wait until it has caught up. If it stays, look at its lag (baton topology).',
  },
  behind: {
    what: (region) => `${region} has not seen the GCN in force in`,
    means: 'Its node does not reach a majority of acceptors, or is slow.',
    remedy: 'Look again; if it stays, look at the acceptors that this node reaches.',
  },
};

/** What a node that does not answer brings with it is said with the node. */
function isSaid({ nodes: all }: ClusterView, { kind, region }: PartitionProblem): boolean {
  if (kind === 'moving') return true;
  if (kind === 'unseen') return all.some(({ isRefused }) => isRefused === true);
  return kind === 'region down' && all.some((node) => node.region === region && !node.isUp);
}

function partitionSets({ view }: Evidence): Finding[] {
  const found = new Map<string, { problem: PartitionProblem; names: Set<string> }>();
  for (const one of view.partitionSets) {
    for (const problem of problemsOf(one).filter((each) => !isSaid(view, each))) {
      const key = `${problem.kind}\t${problem.region ?? ''}`;
      const entry = found.get(key) ?? { problem, names: new Set() };
      entry.names.add(one.name);
      found.set(key, entry);
    }
  }
  return [...found.values()].map(({ problem: { kind, severity, region = '' }, names }) => {
    const { what, means, remedy } = ADVICE[kind as keyof typeof ADVICE];
    const finding = `${what(region)} ${plural(names.size, 'partition-set')}: ${someOf([...names])}.`;
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
    finding: `${region} lags by up to ${plural(entries, 'write')} in ${plural(names.length, 'partition-set')}: ${someOf(names)}.`,
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
  const list = [...all].map(([version, names]) => `${version} (${someOf(names)})`).join(', ');
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
      finding: `Automatic failovers are paused in ${plural(names.length, 'partition-set')}: ${someOf(names)}.`,
      means: 'If their write region dies, they cannot be written until somebody acts.',
      remedy: 'When the work is done: baton resume.',
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
      finding: `Intents of operators are open: ${someOf(hanging)}.`,
      means:
        'They wait for something that has not happened: a region catching up, a larger lease set, or a region no longer being needed.',
      remedy:
        'See what the region lacks (baton topology), or withdraw the intent (baton intents, baton intents withdraw ID).',
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

function exposedPorts({ found: { config } }: Evidence): Finding[] {
  if (config.tls !== undefined) return [];
  const open = config.regions.flatMap(({ nodes: all }) =>
    all.filter(({ listen, http }) => !isLoopback(listen.host) || (http && !isLoopback(http.host))),
  );
  if (open.length === 0) return [];
  return [
    {
      severity: 'critical',
      finding: `There is no TLS, and nodes are told to listen beyond loopback: ${someOf(open.map(({ name }) => name))}.`,
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
  gateways: ({ shutGateways, found }) => shutGateways.map((shut) => gatewayFinding(shut, found)),
  versions,
  clocks,
  pauses,
  intents,
  'lost writes': lost,
  certificates,
  'exposed ports': exposedPorts,
};
