/**
 * etcd over its JSON gateway, with connections that are kept. It stays with one member, which passes writes on to the leader,
 * and goes to the next when that one fails or takes too long.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PeerClient } from './peer.ts';

const TRY_MS = 1000;
const PAUSE_MS = 20;
const READ_MS = 30_000;

export class EtcdClient implements PeerClient {
  readonly #members: readonly string[];
  readonly #agent = new Agent({ keepAlive: true });
  #at: number;

  constructor(members: readonly string[], first: number) {
    this.#members = members;
    this.#at = first;
  }

  async write(id: string, signal: AbortSignal): Promise<void> {
    const body = { key: base64(id), value: base64(id) };
    for (;;) {
      const at = this.#at;
      try {
        await this.#post(at, '/v3/kv/put', body, AbortSignal.any([signal, AbortSignal.timeout(TRY_MS)]));
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        if (this.#at === at) this.#at = (at + 1) % this.#members.length;
        await sleep(PAUSE_MS);
      }
    }
  }

  /** A range is linearizable unless it is asked for as `serializable`. */
  async countMissing(ids: readonly string[]): Promise<number> {
    const range = { key: base64('\0'), range_end: base64('\0'), keys_only: true };
    const answer = await this.#post(this.#at, '/v3/kv/range', range, AbortSignal.timeout(READ_MS));
    const { kvs = [] } = JSON.parse(answer) as { kvs?: readonly { readonly key: string }[] };
    const present = new Set(kvs.map(({ key }) => Buffer.from(key, 'base64').toString()));
    return ids.filter((id) => !present.has(id)).length;
  }

  close(): Promise<void> {
    this.#agent.destroy();
    return Promise.resolve();
  }

  #post(at: number, path: string, body: object, signal: AbortSignal): Promise<string> {
    const [host, port] = this.#members[at]!.split(':');
    return new Promise((resolve, reject) => {
      const asked = request({ host, port, path, method: 'POST', agent: this.#agent, signal }, (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part));
        answer.on('error', reject);
        answer.on('end', () => {
          const text = Buffer.concat(parts).toString();
          if (answer.statusCode === 200) resolve(text);
          else reject(new Error(`etcd answered ${answer.statusCode}: ${text}`));
        });
      });
      asked.on('error', reject);
      asked.end(JSON.stringify(body));
    });
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
