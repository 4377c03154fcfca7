/** A CASPaxos library over three acceptors, as `npm run bench:caspaxos` measures it. */
export interface Contender {
  readonly name: 'baton' | 'gryadka';
  start(): Promise<void>;
  /** A proposer of its own. With two round trips no ballot is prepared along with the change before. */
  proposer(id: number, rounds: 1 | 2): Promise<Operate>;
  closeClients(): Promise<void>;
  stop(): Promise<void>;
}

/** Increments a register; whether the change was committed. */
export type Operate = (register: string) => Promise<boolean>;
