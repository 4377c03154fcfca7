/**
 * The account, as clients discover it. A region's door names all doors, and the first region's as the writable one: with that,
 * and with per-partition failover switched on, a client sends each write where the partition-set's writer is, and follows
 * when it moves. The global endpoint names only itself and routes here: its clients need to know nothing of regions.
 *
 * Clients compare endpoints as text, so each is spelled the same in both lists. The name must not be `localhost`: then they
 * would ignore the lists.
 */
import type { GatewayContext, Handler, Location } from './context.ts';
import { methodNotAllowed } from './errors.ts';

const GLOBAL = 'global';

/** What clients that plan queries themselves want to know. */
const QUERY_ENGINE = {
  maxSqlQueryInputLength: 262_144,
  maxJoinsPerSqlQuery: 5,
  maxLogicalAndPerSqlQuery: 500,
  maxLogicalOrPerSqlQuery: 500,
  maxUdfRefPerSqlQuery: 10,
  maxInExpressionItemsCount: 16_000,
  queryMaxInMemorySortDocumentCount: 500,
  maxQueryRequestTimeoutFraction: 0.9,
  sqlAllowNonFiniteNumbers: false,
  sqlAllowAggregateFunctions: true,
  sqlAllowSubQuery: true,
  sqlAllowScalarSubQuery: true,
  allowNewKeywords: true,
  sqlAllowLike: true,
  sqlAllowGroupByClause: true,
  maxSpatialQueryCells: 12,
  spatialMaxGeometryPointCount: 256,
  sqlDisableOptimizationFlags: 0,
  sqlAllowTop: true,
  enableSpatialIndexing: true,
};

export const handleAccount: Handler = async ({ method }, context) => {
  if (method !== 'GET') throw methodNotAllowed('An account can only be read here.');
  return { status: 200, body: accountView(context), charge: 0 };
};

function accountView({ account, door, locations, self }: GatewayContext): object {
  const id = account.name.toLowerCase() === 'localhost' ? 'baton-localhost' : account.name;
  const all = door === undefined ? [{ name: GLOBAL, endpoint: self() }] : locations();
  const copies = {
    asyncReplication: false,
    minReplicaSetSize: 1,
    maxReplicasetSize: Math.max(1, all.length),
  };
  return {
    _self: '',
    id,
    _rid: `${id}.baton`,
    media: '//media/',
    addresses: '//addresses/',
    _dbs: '//dbs/',
    writableLocations: all.slice(0, 1).map(locationView),
    readableLocations: all.map(locationView),
    enableMultipleWriteLocations: false,
    continuousBackupEnabled: false,
    enableNRegionSynchronousCommit: false,
    enablePerPartitionFailoverBehavior: door !== undefined,
    userReplicationPolicy: copies,
    userConsistencyPolicy: { defaultConsistencyLevel: account.consistency() },
    systemReplicationPolicy: copies,
    readPolicy: { primaryReadCoefficient: 1, secondaryReadCoefficient: 1 },
    queryEngineConfiguration: JSON.stringify(QUERY_ENGINE),
  };
}

function locationView({ name, endpoint }: Location): object {
  return { name, databaseAccountEndpoint: endpoint };
}
