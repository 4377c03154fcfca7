/** The pure part of CASPaxos: roles, quorums, ballots, and the proposer that drives them. */
export * from './acceptor.ts';
export * from './ballots.ts';
export * from './leader.ts';
export * from './learner.ts';
export * from './quorum.ts';
