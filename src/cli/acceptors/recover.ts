/**
 * `baton acceptors recover`: the way back when a majority of the acceptors is lost for good (docs/acceptors.md). It says what will be
 * lost, and acts only when that was accepted, by a flag or at a terminal.
 */
import {
  CasPaxosError,
  inspectRecovery,
  recoverAcceptors,
  type RecoveryOutlook,
} from '../../caspaxos/index.ts';
import { OperateError } from '../operate/errors.ts';
import { plural, pretty, type Report, right, type Table, table } from '../operate/output.ts';
import { confirm, type Stage } from '../operate/stage.ts';
import { type Progress, progressBar } from '../progress.ts';
import { type AccessFlags, accessFrom } from './access.ts';
import { secretsIn, withoutSecrets } from './place.ts';
import { type RecoveredState, recoveredStates } from './recovered-states.ts';

export interface RecoverFlags extends AccessFlags {
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly changesMayBeLost?: boolean;
  readonly dryRun?: boolean;
  readonly abandon?: string;
  readonly format: string;
}

export async function recover(
  stage: Stage,
  flags: RecoverFlags,
  progress: Progress = progressBar('registers'),
): Promise<Report> {
  const access = accessFrom(stage, flags);
  const { token, tls, timeoutMs } = access;
  const { from, to, abandon } = flags;
  const options = { from, to, abandon, token, tls, requestTimeoutMs: timeoutMs };
  try {
    const outlook = await inspectRecovery(options);
    const plan = planOf(outlook);
    if (flags.dryRun === true)
      return { value: { dryRun: true, ...outlook }, table: figures(outlook), pretty: () => `${plan}\n` };
    await consent(stage, plan, flags.changesMayBeLost === true);
    const outcome = await recoverAcceptors({
      ...options,
      changesMayBeLost: true,
      onProgress: (registers) => progress.update(registers, Math.max(registers, outlook.registers)),
    });
    progress.clear();
    const partitionSets = await recoveredStates(to, access);
    const { registers, tombstones, cluster, wasCopied } = outcome;
    const done = wasCopied
      ? 'Everything had been recovered before.'
      : `${plural(registers, 'register')} recovered, ${tombstones} of them deleted.`;
    return {
      value: { ...outcome, partitionSets },
      table: tableOf(partitionSets),
      pretty: (paint) =>
        `${done} The new cluster of acceptors is ${cluster}.\n${pretty(tableOf(partitionSets), paint)}${NEXT}`,
    };
  } catch (error) {
    if (!(error instanceof CasPaxosError)) throw error;
    // A store's own words may have its URL in them.
    const secrets = [...from, ...to].flatMap(secretsIn);
    throw new CasPaxosError(error.code, withoutSecrets(error.message, secrets), { cause: error });
  } finally {
    progress.clear();
  }
}

const NEXT = `Next: name the new acceptors in the cluster file of every node and gateway, compare the GCNs as docs/acceptors.md says, and only
then start the nodes. Never start an acceptor of the old set again.
`;

function planOf({ oldCluster, cluster, from, to, members, set, registers, state }: RecoveryOutlook): string {
  const begun = {
    'not begun': '',
    begun: 'An earlier attempt is gone on with.\n',
    copied: 'An earlier attempt has copied everything: only its end is repeated.\n',
  }[state];
  return `Recover cluster ${oldCluster} into new acceptors, as cluster ${cluster}:
  from  ${from.join(' ')}  (${from.length} of ${plural(members, 'acceptor')} in set ${set}, about ${plural(registers, 'register')})
  to    ${to.join(' ')}
${begun}Changes that only lost acceptors had accepted are gone: registers, and with them the failover states of partition-sets, may go back.
The survivors answer nobody of the old cluster any more, and there is no way back to it. Lost acceptors that come back are not stopped
by this: destroy them. All nodes and gateways must be stopped, for at least a lease.`;
}

async function consent(stage: Stage, plan: string, isGiven: boolean): Promise<void> {
  if (!isGiven && stage.ask !== undefined) return confirm(stage, plan, false);
  stage.err(`${plan}\n`);
  if (isGiven) return;
  throw new OperateError(
    'ANSWER_NEEDED',
    'The command needs a confirmation and there is no terminal to ask on; --changes-may-be-lost confirms it, --dry-run shows what would happen.',
  );
}

function tableOf(states: readonly RecoveredState[]): Table {
  return table(
    ['PARTITION-SET', right('GCN'), 'WRITE REGION', 'LEASE SET'],
    states.map((state) => ({
      cells:
        'error' in state
          ? [state.partitionSet, '?', `[${state.error}]`, '']
          : [state.partitionSet, String(state.gcn), state.writeRegion ?? '-', state.leaseSet.join(' ')],
    })),
  );
}

/** One line for each figure, for `tsv`. */
function figures(of: object): Table {
  const rows = Object.entries(of).map(([name, value]) => ({
    cells: [name, Array.isArray(value) ? value.join(' ') : String(value)],
  }));
  return table(['NAME', 'VALUE'], rows);
}
