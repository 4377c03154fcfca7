/** What a cluster counts, for metrics and for the curious. Latencies are in milliseconds. */
import { Histogram } from '../protocol/index.ts';

export interface ClusterCounters {
  /** Changes by outcome. */
  committed: number;
  rejected: number;
  unknown: number;
  /** Ballots begun for changes. */
  attempts: number;
  /** Attempts lost to another proposer, and to acceptors that did not answer. */
  conflicts: number;
  unavailable: number;
  /** Changes that skipped phase 1. */
  oneRoundTrip: number;
  reads: number;
  /** Reads that needed an identity change because the acceptors disagreed. */
  slowReads: number;
  /** Messages to acceptors, and the requests that carried them. */
  messages: number;
  requests: number;
  failedRequests: number;
  /** Rule 3's alarm: one ballot, two values. Never anything but 0 unless something is badly wrong. */
  alarms: number;
  /** Answers of acceptors that were not believed (rule 11). */
  doubts: number;
  /** Changes ended by an error in the work on their register. */
  errors: number;
}

export interface ClusterLatencies {
  readonly change: Histogram;
  readonly phase1: Histogram;
  readonly phase2: Histogram;
  readonly read: Histogram;
}

export function newCounters(): ClusterCounters {
  return {
    committed: 0,
    rejected: 0,
    unknown: 0,
    attempts: 0,
    conflicts: 0,
    unavailable: 0,
    oneRoundTrip: 0,
    reads: 0,
    slowReads: 0,
    messages: 0,
    requests: 0,
    failedRequests: 0,
    alarms: 0,
    doubts: 0,
    errors: 0,
  };
}

export function newLatencies(): ClusterLatencies {
  return { change: new Histogram(), phase1: new Histogram(), phase2: new Histogram(), read: new Histogram() };
}
