/**
 * Where a container is and how to be let in: the URL, then the environment, then Azure's own chain of identities.
 *
 * `azure-blob://ACCOUNT.blob.core.windows.net/CONTAINER` is how Azure's accounts are addressed; servers without a name for each
 * account, such as Azurite, have it in the path: `azure-blob://127.0.0.1:10000/ACCOUNT/CONTAINER`.
 */
import type { ContainerClient, StoragePipelineOptions } from '@azure/storage-blob';
import type { Agent } from 'node:http';
import { CasPaxosError } from '../errors.ts';
import { defaultAzureCredential } from './azure-identity.ts';
import { loadPeer } from './peer.ts';
import type { StoreCalls } from './store-calls.ts';
import type { StoreUrl, StoreUrlForm } from './store-url.ts';

export const AZURE_BLOB_FORM: StoreUrlForm = {
  scheme: 'azure-blob',
  form: 'azure-blob://:KEY@ACCOUNT.blob.core.windows.net/CONTAINER?prefix=PREFIX',
  defaultPort: 443,
  options: ['prefix'],
};

/** Idle connections are given up before the server does it: a request that meets its farewell would have an unknown fate. */
const IDLE_MS = 4000;

type Pass = { readonly key: string } | { readonly signature: string } | 'identity';

export class AzureBlobAccount {
  readonly #url: StoreUrl;
  readonly #agent: Agent;
  readonly #account: string;

  constructor(url: StoreUrl, calls: StoreCalls) {
    if (url.path.length !== 1 && url.path.length !== 2) {
      const message = `An acceptor URL with azure-blob needs the form ${AZURE_BLOB_FORM.form}.`;
      throw new CasPaxosError('URL_INVALID', message);
    }
    const { tls } = url;
    this.#url = url;
    this.#agent = calls.agent(tls, { keepAlive: true, timeout: IDLE_MS });
    const [first, second] = url.path;
    this.#account = url.user ?? (second === undefined ? url.hosts[0]!.host.split('.')[0]! : first!);
  }

  async open(): Promise<ContainerClient> {
    const blobs = await loadPeer('azure-blob', '@azure/storage-blob', () => import('@azure/storage-blob'));
    const options: StoragePipelineOptions & { agent: Agent } = {
      retryOptions: { maxTries: 1 },
      agent: this.#agent,
    };
    const pass = this.#pass();
    if (pass === 'identity')
      return new blobs.ContainerClient(this.#address(), await defaultAzureCredential('azure-blob'), options);
    if ('signature' in pass)
      return new blobs.ContainerClient(
        `${this.#address()}?${pass.signature}`,
        new blobs.AnonymousCredential(),
        options,
      );
    const credential = new blobs.StorageSharedKeyCredential(this.#account, pass.key);
    return new blobs.ContainerClient(this.#address(), credential, options);
  }

  close(): void {
    this.#agent.destroy();
  }

  #address(): string {
    const { host, port } = this.#url.hosts[0]!;
    const name = host.includes(':') ? `[${host}]` : host;
    const path = this.#url.path.map((segment) => encodeURIComponent(segment)).join('/');
    return `${this.#url.isSecure ? 'https' : 'http'}://${name}:${port}/${path}`;
  }

  /** What the environment says of another account is not tried on this one. */
  #pass(): Pass {
    const { AZURE_STORAGE_ACCOUNT: account, AZURE_STORAGE_KEY: key } = process.env;
    if (this.#url.password !== undefined) return { key: this.#url.password };
    if (key !== undefined && (account ?? this.#account) === this.#account) return { key };
    const connection = connectionSettings(process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? '');
    if ((connection.get('AccountName') ?? this.#account) === this.#account) {
      const ownKey = connection.get('AccountKey');
      if (ownKey !== undefined) return { key: ownKey };
      const signature = connection.get('SharedAccessSignature');
      if (signature !== undefined) return { signature: signature.replace(/^\?/, '') };
    }
    return 'identity';
  }
}

/** `AccountName=...;AccountKey=...`; values may hold `=` themselves. */
function connectionSettings(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(';').filter((pair) => pair.includes('='));
  return new Map(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')).trim(), pair.slice(pair.indexOf('=') + 1).trim()]),
  );
}
