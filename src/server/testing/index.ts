/** `baton/testing`: a cluster for other people's tests. */
export { BatonClient } from '../../client/index.ts';
export { type LoadState, LocalClusterError, type LocalErrorCode } from '../local/index.ts';
export { startCluster, type StartOptions, TestCluster, type Waited } from './test-cluster.ts';
