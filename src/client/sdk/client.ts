/**
 * The client of an account. It finds the regions by the account's name, asks any node for the map, and then sends every operation straight
 * to the nodes that have its data. Nobody tells it of a failover: it notices by what the regions answer, and tries the others
 * (paper, section 5.1).
 */
import type { ReadLevel } from '../../engine/index.ts';
import { Connected } from './connecting.ts';
import { Container } from './container.ts';
import type { Executor } from './executor.ts';
import { type ConnectOptions, type HedgeOptions, hedgeOf } from './options.ts';
import { Session } from './session.ts';

export class BatonClient {
  readonly #connected: Connected;
  readonly #executor: Executor;
  readonly #hedge: HedgeOptions | undefined;
  readonly #session = new Session();

  private constructor(connected: Connected, hedge: HedgeOptions | undefined) {
    this.#connected = connected;
    this.#executor = connected.executor;
    this.#hedge = hedge;
  }

  /** Resolves when a node has given the map of the account. Rejects with a BatonError. */
  static async connect(options: ConnectOptions): Promise<BatonClient> {
    return new BatonClient(await Connected.to(options), hedgeOf(options.hedge));
  }

  /** The name that the nodes have for the account. */
  get account(): string {
    return this.#executor.topology.map.account.name;
  }

  /** Reads have this level unless they ask for a weaker one. */
  get consistency(): ReadLevel {
    return this.#executor.topology.map.account.consistency;
  }

  /** In order of priority. */
  get regions(): readonly string[] {
    return this.#executor.topology.regions;
  }

  get containers(): readonly string[] {
    return this.#executor.topology.map.containers.map(({ name }) => name);
  }

  /** Asks nobody: a container that does not exist is noticed by its first operation. */
  container<T extends object = Record<string, unknown>>(name: string): Container<T> {
    return new Container<T>(name, {
      executor: this.#executor,
      session: this.#session,
      hedge: this.#hedge,
    });
  }

  /** A session of its own, for one user of many; with the token of another one it has seen all that that one saw. */
  session(token?: string): Session {
    return new Session(token);
  }

  /** Operations under way now. */
  get inFlight(): number {
    return this.#executor.inFlight;
  }

  /** What is under way ends with CLIENT_CLOSED. Nothing is left: no connection, no timer. */
  close(): Promise<void> {
    return this.#connected.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
