/**
 * Which test files run when. There are three lanes:
 *
 * - quick, `npm test`: every file that ONLY_LONG does not name. What a newcomer waits for.
 * - long, the files of ONLY_LONG. `npm run test:all` runs them after the quick lane, beside campaigns, specifications, mutants.
 * - second, on another major version of Node: every file that SAME_ON_ANY_NODE does not name. Also in `npm run test:all`.
 *
 * Without a lane (vitest started by hand, or `npm test -- FILE`) every file can be run. A new test file is in the quick lane; whoever moves it out
 * gives a reason here, and `test/repository/lanes.test.ts` checks that nothing which users touch is without a test in the quick lane.
 */

export interface OnlyLong {
  /** Why it does not run in `npm test`. */
  readonly because: string;
  /** The test of the quick lane that sees the same part of the product, and fails first when it is broken. */
  readonly instead: string;
}

const CAMPAIGN = 'a campaign: it finds what is rare by doing it many times';
const SMOKE = 'a smoke test of a benchmark, which runs the benchmark';
const SECOND_SCENE = 'a cluster of its own for cases that few people meet';

/** Test files of the long lane, with what the quick lane has instead. */
export const ONLY_LONG: Readonly<Record<string, OnlyLong>> = {
  'src/cli/node.process.test.ts': {
    because: `${SECOND_SCENE}: wrong tokens, garbage on the ports, starts that cannot be`,
    instead: 'src/cli/operate/operate.process.test.ts',
  },
  'src/cli/up.process.test.ts': {
    because: 'five clusters one after another, killed and stopped at the wrong moments',
    instead: 'test/readme/readme.process.test.ts',
  },
  'src/server/local/gateways.process.test.ts': {
    because: `${SECOND_SCENE}: the order of starts and stops, new keys`,
    instead: 'test/gateway/surface.process.test.ts',
  },
  'src/server/local/local-cluster.process.test.ts': {
    because: 'six clusters one after another: restarts, other ports, a small disk',
    instead: 'test/readme/readme.process.test.ts',
  },
  'src/server/local/namespaces.process.test.ts': {
    because: 'needs root and network namespaces, and waits for three failovers',
    instead: 'test/client/failover.process.test.ts',
  },
  'src/server/local/page.process.test.ts': {
    because: 'three clusters one after another, for what the page may order',
    instead: 'test/dashboard/cluster.process.test.ts',
  },
  'src/server/node/region-node.process.test.ts': {
    because: `${SECOND_SCENE}: regions without the processes around them`,
    instead: 'test/client/failover.process.test.ts',
  },
  'test/bench/agents.process.test.ts': { because: SMOKE, instead: 'test/bench/commands.process.test.ts' },
  'test/bench/caspaxos.process.test.ts': { because: SMOKE, instead: 'test/bench/commands.process.test.ts' },
  'test/bench/engine.process.test.ts': { because: SMOKE, instead: 'test/bench/commands.process.test.ts' },
  'test/bench/failover.process.test.ts': { because: SMOKE, instead: 'test/bench/commands.process.test.ts' },
  'test/bench/outage.process.test.ts': { because: SMOKE, instead: 'test/bench/outage.test.ts' },
  'test/bench/page.process.test.ts': { because: SMOKE, instead: 'test/bench/commands.process.test.ts' },
  'test/bench/peers.process.test.ts': { because: SMOKE, instead: 'test/bench/commands.process.test.ts' },
  'test/bench/rpc.process.test.ts': { because: SMOKE, instead: 'test/bench/commands.process.test.ts' },
  'test/bench/sim.process.test.ts': { because: SMOKE, instead: 'test/bench/commands.process.test.ts' },
  'test/bench/stores.process.test.ts': { because: SMOKE, instead: 'test/bench/commands.process.test.ts' },
  'test/chaos/chaos.process.test.ts': { because: CAMPAIGN, instead: 'test/chaos/chaos.test.ts' },
  'test/chaos/stores.process.test.ts': { because: CAMPAIGN, instead: 'test/chaos/chaos.test.ts' },
  'test/cli/acceptors-restart.process.test.ts': {
    because: 'restarts the server of every kind of store under a command that people run once',
    instead: 'src/cli/acceptors/restart-check.test.ts',
  },
  'test/cli/sim-fuzz.process.test.ts': { because: CAMPAIGN, instead: 'src/cli/sim/fuzz-campaign.test.ts' },
  'test/cli/sim-outage.process.test.ts': { because: CAMPAIGN, instead: 'src/sim/outage/outage.test.ts' },
  'test/cli/sim-registers.process.test.ts': {
    because: CAMPAIGN,
    instead: 'src/cli/sim/registers-campaign.test.ts',
  },
  'test/cli/sim.process.test.ts': { because: CAMPAIGN, instead: 'src/sim/duel.test.ts' },
  'test/dashboard/fleet.process.test.ts': {
    because: `${SECOND_SCENE}: a thousand partition-sets, a phone, a keyboard`,
    instead: 'test/dashboard/cluster.process.test.ts',
  },
  'test/dashboard/many-sets.process.test.ts': {
    because: `${SECOND_SCENE}: ten thousand partition-sets`,
    instead: 'test/dashboard/cluster.process.test.ts',
  },
  'test/engine/storage/storage-kill.process.test.ts': {
    because: CAMPAIGN,
    instead: 'src/engine/storage/node-store.test.ts',
  },
  'test/gateway/bench.process.test.ts': { because: SMOKE, instead: 'test/bench/commands.process.test.ts' },
  'test/gateway/fuzz.process.test.ts': {
    because: CAMPAIGN,
    instead: 'src/server/gateway/gateway-server.test.ts',
  },
  'test/gateway/hostile.process.test.ts': {
    because: `${SECOND_SCENE}: bytes and ballots that nobody but an attacker sends`,
    instead: 'src/caspaxos/rules/rule-11.test.ts',
  },
  'test/gateway/session.process.test.ts': {
    because: CAMPAIGN,
    instead: 'test/gateway/surface.process.test.ts',
  },
  'test/gateway/outage.process.test.ts': {
    because: 'a campaign: clients of every kind at every door, and a checker for what they saw',
    instead: 'test/readme/readme.process.test.ts',
  },
  'test/process/acceptor-kill.process.test.ts': {
    because: CAMPAIGN,
    instead: 'test/process/service.process.test.ts',
  },
  'test/process/counters.process.test.ts': {
    because: CAMPAIGN,
    instead: 'test/process/service.process.test.ts',
  },
  'test/stores/azure-blob-bad-days.process.test.ts': {
    because: 'kills and restarts an emulator that takes seconds to start',
    instead: 'test/stores/azure-blob.process.test.ts',
  },
  'test/stores/cosmos-bad-days.process.test.ts': {
    because: 'kills and restarts a whole cluster as the server of an acceptor',
    instead: 'test/stores/cosmos.process.test.ts',
  },
};

/** What users touch, and the file of the quick lane that touches it with real processes. */
export const TOUCHED: Readonly<Record<string, string>> = {
  'a cluster that is killed and healed under the SDK': 'test/client/failover.process.test.ts',
  'every operation of the SDK': 'test/client/operations.process.test.ts',
  'the public Cosmos client at a door': 'test/gateway/surface.process.test.ts',
  'the public Cosmos client while its region dies': 'test/readme/readme.process.test.ts',
  'the page in a browser': 'test/dashboard/cluster.process.test.ts',
  "the operators' commands": 'src/cli/operate/operate.process.test.ts',
  'the command line and its help': 'test/cli/cli.process.test.ts',
  "the README's commands and programs, in a fresh clone": 'test/readme/readme.process.test.ts',
  'clusters in test suites of their own': 'src/server/testing/examples.process.test.ts',
  'the acceptor service': 'test/process/service.process.test.ts',
  'the DNS server': 'src/cli/dns.process.test.ts',
  'acceptors in LMDB': 'src/caspaxos/stores/lmdb.process.test.ts',
  'acceptors in Redis': 'test/stores/redis.process.test.ts',
  'acceptors in etcd': 'test/stores/etcd.process.test.ts',
  'acceptors in PostgreSQL': 'test/stores/postgres.process.test.ts',
  'acceptors in Azure Blob Storage': 'test/stores/azure-blob.process.test.ts',
  'acceptors in DynamoDB': 'test/stores/dynamodb.process.test.ts',
  'acceptors in Cosmos DB': 'test/stores/cosmos.process.test.ts',
};

/**
 * Left out on the second Node, by pattern, with the reason: what computes the same on any Node, or is not about Node at all. Everything that
 * opens a socket, a file, a process or a database runs on both.
 */
export const SAME_ON_ANY_NODE: Readonly<Record<string, string>> = {
  'src/**/core/**': 'pure cores: no clock, no I/O',
  'src/check/**': 'pure checkers',
  'src/sim/**': 'simulators in virtual time',
  'src/cli/sim/**': 'simulators in virtual time',
  'test/cli/sim*': 'simulators in virtual time',
  'test/sim/**': 'simulators in virtual time',
  'test/spec/**': 'specifications',
  'test/failover-model/**': 'explorations of a model',
  'test/set-change/**': 'explorations of a model',
  'test/failover/invariants.test.ts': 'explorations of a model',
  'test/mutants/**': 'the list of mutants',
  'test/repository/**': "the repository's own habits and set-up",
  'test/readme/**': 'installs the repository with the npm of this Node',
  'test/deploy/**': 'units and dashboards, which are text',
  'test/bench/**': 'benchmarks, which are not part of the product',
  'test/gateway/bench*': 'benchmarks, which are not part of the product',
};

/**
 * Tests that want the machine for themselves: they fill every core and want a certain number of things to happen meanwhile, or take ports by
 * a rule of their own. They run one after another, when the others are done.
 */
export const ALONE = [
  'test/chaos/chaos.process.test.ts',
  'test/chaos/stores.process.test.ts',
  'test/process/acceptor-kill.process.test.ts',
  'test/process/counters.process.test.ts',
];

/**
 * What takes longest must not come last, when only one worker has anything left to do; on a fresh clone nobody else knows.
 * Of those with processes, some that wait and some that compute take turns, so that both are under way at any time.
 */
export const LONGEST_FIRST = [
  'test/spec/failover.spec.test.ts',
  'test/spec/caspaxos.spec.test.ts',
  'test/spec/conformance.test.ts',
  'src/server/daemon/catalog.test.ts',
  'test/spec/replication.spec.test.ts',
  'test/failover/toy-driver.test.ts',
  'src/server/daemon/node-daemon.test.ts',
  'test/failover-model/rules.test.ts',
  'src/sim/engine/engine.test.ts',
  'src/failover/failover-agent.test.ts',
  'test/failover-model/invariants.test.ts',
  'test/client/connections.test.ts',
  'src/sim/registers/registers.test.ts',
  'src/server/gateway/gateway-daemon.test.ts',
  'test/set-change/set-change.test.ts',
  'test/failover-model/healing.test.ts',

  'test/readme/readme.process.test.ts',
  'test/dashboard/cluster.process.test.ts',
  'src/cli/operate/operate.process.test.ts',
  'src/server/testing/examples.process.test.ts',
  'test/stores/cosmos-bad-days.process.test.ts',
  'test/stores/cosmos.process.test.ts',
  'test/gateway/outage.process.test.ts',
  'test/stores/azure-blob.process.test.ts',
  'test/gateway/surface.process.test.ts',
  'test/stores/dynamodb.process.test.ts',
  'test/cli/cli.process.test.ts',
  'test/process/service.process.test.ts',
  'test/client/failover.process.test.ts',
  'src/cli/up.process.test.ts',
  'src/server/local/local-cluster.process.test.ts',
  'src/server/local/namespaces.process.test.ts',
  'test/cli/sim-registers.process.test.ts',
  'src/cli/node.process.test.ts',
  'test/cli/sim-fuzz.process.test.ts',
  'test/bench/peers.process.test.ts',
  'test/bench/outage.process.test.ts',
  'src/server/node/region-node.process.test.ts',
];
