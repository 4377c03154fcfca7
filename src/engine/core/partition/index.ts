/** One copy of a partition-set: replication, commit, reads. */
export * from './answers.ts';
export { entriesOf } from './copying.ts';
export { feed, type FeedAnswer, type FeedPosition, type FeedRequest } from './feed.ts';
export { type FollowingTimings, FOLLOWING_TIMINGS } from './following.ts';
export { FORWARDER_LIMITS, type ForwarderLimits, type RegionName } from './forwarder.ts';
export * from './messages.ts';
export * from './partition.ts';
export * from './port.ts';
export * from './progress-table.ts';
export type { Consistency } from './reign.ts';
export type { ShownVersion } from './returning.ts';
export { Requests } from './requests.ts';
export { TRIM_POLICY, type TrimPolicy, trimTo } from './trim.ts';
