/** The roles alone in one process: how many steps a second the simulator can hope for. */
import {
  AcceptorStateMachine,
  BallotSource,
  LeaderStateMachine,
  LearnerStateMachine,
  majority,
} from 'baton/caspaxos';

const ACCEPTORS = 3;

export interface RoleSpeed {
  readonly changesPerSecond: number;
  /** A step is one call of one method of one role. */
  readonly stepsPerSecond: number;
}

export function measureRoles(seconds: number): RoleSpeed {
  const quorum = majority(ACCEPTORS);
  const leader = new LeaderStateMachine<number>(
    new BallotSource({ proposer: 'bench', incarnation: 1 }),
    quorum,
  );
  const learner = new LearnerStateMachine<number>(quorum);
  const acceptors = Array.from(
    { length: ACCEPTORS },
    (_, index) => new AcceptorStateMachine<number>(undefined, index),
  );
  let steps = 0;
  let changes = 0;
  const change = (): void => {
    const ask = leader.startPhase1();
    steps += 1;
    for (const acceptor of acceptors) {
      const promise = acceptor.onPhase1a(ask);
      steps += 2;
      const proposal =
        promise.type === '1b' ? leader.startPhase2(promise, (value) => (value ?? 0) + 1) : undefined;
      if (proposal === undefined) continue;
      for (const other of acceptors) {
        const accepted = other.onPhase2a(proposal);
        steps += 2;
        if (accepted.type === '2b' && learner.learn(accepted) !== undefined) changes += 1;
      }
      return;
    }
  };
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) for (let round = 0; round < 1000; round += 1) change();
  return { changesPerSecond: Math.round(changes / 2 / seconds), stepsPerSecond: Math.round(steps / seconds) };
}
