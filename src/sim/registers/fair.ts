/**
 * When a call may be expected to be done: when it has time for several rounds, one of which goes unanswered, and when through all of
 * that time its client reaches so many acceptors that both quorums are among them. Everything is read from the schedule. Where that is hard to say, nothing is expected: after a fault the library needs a
 * moment to find an acceptor again, a damaged disk stays damaged, and a changed set of acceptors wants all of them.
 */
import type { ScheduledFault } from '../seeded-run.ts';
import type { RegistersConfiguration } from './configuration.ts';
import { acceptorName, type FaultName } from './faults.ts';

export type Fairness = (client: string, fromMs: number, untilMs: number) => boolean;

const HARMLESS: readonly FaultName[] = ['duplicate', 'clock jump', 'change set'];
/** So many requests that take their longest. */
const TIME_FOR = 4;
const FOR_GOOD: readonly FaultName[] = [
  'forget',
  'roll back',
  'garble',
  'promote',
  'restore',
  'shared',
  'copy',
];

export function fairness(
  configuration: Pick<RegistersConfiguration, 'acceptors' | 'spares' | 'quorums' | 'requestTimeoutMs'>,
  schedule: readonly ScheduledFault[],
): Fairness {
  const { acceptors, spares, quorums, requestTimeoutMs } = configuration;
  const names = Array.from({ length: acceptors + spares }, (_, at) => acceptorName(at));
  const faults = schedule
    .filter(({ kind }) => !isOneOf(HARMLESS, kind))
    .map((fault) => ({ ...fault, untilMs: endOf(fault) + requestTimeoutMs }));
  const changedAt = Math.min(
    ...schedule.filter(({ kind }) => kind === 'change set').map(({ fromMs }) => fromMs),
  );
  return (client, fromMs, untilMs) => {
    if (untilMs - fromMs < TIME_FOR * requestTimeoutMs) return false;
    const isChanged = untilMs >= changedAt;
    const inForce = isChanged ? names : names.slice(0, acceptors);
    const met = faults.filter((fault) => fault.fromMs <= untilMs && fault.untilMs > fromMs);
    // One that was not reached for some of the time does not count at all.
    const reached = inForce.filter((acceptor) => !met.some((fault) => parts(fault, client, acceptor)));
    return reached.length >= (isChanged ? inForce.length : Math.max(quorums.phase1, quorums.phase2));
  };
}

function endOf({ kind, untilMs }: ScheduledFault): number {
  return isOneOf(FOR_GOOD, kind) ? Infinity : untilMs;
}

/** Whether it comes between the two. A cut does so only if it leaves them on different sides. */
function parts({ kind, targets }: ScheduledFault, client: string, acceptor: string): boolean {
  const [isClient, isAcceptor] = [targets.includes(client), targets.includes(acceptor)];
  return kind === 'cut' || kind === 'one-way cut' ? isClient !== isAcceptor : isClient || isAcceptor;
}

function isOneOf(kinds: readonly FaultName[], kind: string): boolean {
  return kinds.includes(kind as FaultName);
}
