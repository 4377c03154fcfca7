/** What the nodes of a local cluster say of its partition-sets, and wishes posted to them as an operator's commands do. */
import { randomUUID } from 'node:crypto';
import { type LocalCluster, nodesOf } from 'baton/server';

export interface View {
  readonly partitionSet: string;
  readonly gcn: number;
  readonly phase: string;
  readonly writeRegion: string | null;
  readonly leaseSet: readonly string[];
  readonly local: { readonly region: string; readonly canWrite: boolean };
}

const ASK_MS = 1000;

/** By partition-set, the view with the highest GCN; that of the write region itself if it is to be had. */
export async function viewsOf({ config, operatorToken }: LocalCluster): Promise<Map<string, View>> {
  const merged = new Map<string, View>();
  const headers = { authorization: `Bearer ${operatorToken}` };
  const answers = await Promise.all(
    nodesOf(config).map(async ({ http }) => {
      if (http === undefined) return [];
      const url = `http://${http.host}:${http.port}/v1/partition-sets`;
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(ASK_MS) }).catch(
        () => undefined,
      );
      if (response?.ok !== true) return [];
      return ((await response.json()) as { partitionSets: readonly View[] }).partitionSets;
    }),
  );
  for (const view of answers.flat()) {
    const known = merged.get(view.partitionSet);
    const isNewer = known === undefined || view.gcn > known.gcn;
    const isOwn = known?.gcn === view.gcn && view.local.region === view.writeRegion;
    if (isNewer || isOwn) merged.set(view.partitionSet, view);
  }
  return merged;
}

/** Posts it for a partition-set; to any node that answers. */
export async function wish(
  { config, operatorToken }: LocalCluster,
  partitionSet: string,
  intent: object,
): Promise<void> {
  const body = JSON.stringify({ intent, id: randomUUID(), who: 'bench' });
  for (const { http } of nodesOf(config)) {
    if (http === undefined) continue;
    const url = `http://${http.host}:${http.port}/v1/partition-sets/${partitionSet}/intents`;
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${operatorToken}` };
    const response = await fetch(url, { method: 'POST', body, headers }).catch(() => undefined);
    if (response?.ok === true) return;
  }
  throw new Error(`No node accepted the intent ${JSON.stringify(intent)}.`);
}
