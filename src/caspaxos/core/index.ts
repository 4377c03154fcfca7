/** The pure part of CASPaxos: roles, quorums, ballots, and the proposer that drives them. */
export * from './acceptor.ts';
export * from './ballots.ts';
export * from './bounds.ts';
export * from './leader.ts';
export * from './learner.ts';
export * from './life.ts';
export * from './quorum.ts';
export * from './claim.ts';
export * from './configuration.ts';
export * from './envelope.ts';
export * from './proposer.ts';
export * from './reader.ts';
export * from './record.ts';
export * from './testimony.ts';
export * from './change.ts';
export * from './backoff.ts';
export * from './pace.ts';
