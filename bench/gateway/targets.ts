/**
 * Three ways to the same documents: the SDK that talks to the nodes, plain HTTP to a region's door with a signature made for
 * every request, and the public client with its default options.
 */
import { Agent, request as httpRequest } from 'node:http';
import { CosmosClient } from '@azure/cosmos';
import { BatonClient } from 'baton/client';
import { signedHeaders } from '../../test/gateway/signature.ts';

export const TARGETS = ['direct', 'http', 'public'] as const;
export type TargetName = (typeof TARGETS)[number];

export interface Access {
  readonly account: string;
  readonly cluster: string;
  /** Addresses of nodes. */
  readonly nodes: readonly string[];
  /** What nodes want to be shown. */
  readonly token: string;
  /** Of the door. */
  readonly endpoint: string;
  readonly key: string;
}

export interface Document {
  readonly id: string;
  readonly text: string;
}

export interface Target {
  upsert(document: Document): Promise<void>;
  read(id: string): Promise<void>;
  close(): Promise<void>;
}

const LINK = 'dbs/main/colls/items';

async function openDirect({ account, cluster, nodes, token }: Access): Promise<Target> {
  const client = await BatonClient.connect({
    account,
    cluster,
    endpoints: nodes,
    token,
    cacheDirectory: false,
  });
  const items = client.container<Document>('items');
  return {
    async upsert(document) {
      await items.upsert(document);
    },
    async read(id) {
      const { document } = await items.find(id);
      if (document === undefined) throw new Error(`There is no ${id}.`);
    },
    close: () => client.close(),
  };
}

function openHttp({ endpoint, key }: Access): Promise<Target> {
  const { hostname, port } = new URL(endpoint);
  const agent = new Agent({ keepAlive: true });
  const ask = (method: string, path: string, link: string, id: string, body?: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const headers = {
        ...signedHeaders({ method, type: 'docs', link }, key),
        'x-ms-documentdb-partitionkey': JSON.stringify([id]),
        ...(body !== undefined && {
          'x-ms-documentdb-is-upsert': 'true',
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        }),
      };
      const request = httpRequest({ agent, hostname, port, method, path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          if (response.statusCode! >= 300) reject(new Error(`${method} ${path}: ${text}`));
          else resolve(void JSON.parse(text));
        });
      });
      request.on('error', reject);
      request.end(body);
    });
  return Promise.resolve({
    upsert: (document) => ask('POST', `/${LINK}/docs`, LINK, document.id, JSON.stringify(document)),
    read: (id) => ask('GET', `/${LINK}/docs/${id}`, `${LINK}/docs/${id}`, id),
    close: () => Promise.resolve(agent.destroy()),
  });
}

async function openPublic({ endpoint, key }: Access): Promise<Target> {
  const client = new CosmosClient({ endpoint, key });
  const container = client.database('main').container('items');
  await container.read();
  return {
    async upsert(document) {
      await container.items.upsert({ ...document });
    },
    async read(id) {
      const { statusCode } = await container.item(id, id).read();
      if (statusCode !== 200) throw new Error(`A read of ${id} gave ${statusCode}.`);
    },
    close: () => Promise.resolve(client.dispose()),
  };
}

const OPEN: Readonly<Record<TargetName, (access: Access) => Promise<Target>>> = {
  direct: openDirect,
  http: openHttp,
  public: openPublic,
};

export function openTarget(name: TargetName, access: Access): Promise<Target> {
  return OPEN[name](access);
}
