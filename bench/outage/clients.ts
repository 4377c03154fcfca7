/** The process with the clients, as the run sees it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { ClientOrder, ClientReport } from './client-process.ts';

interface Answer {
  readonly type: 'begun' | 'report' | 'finished';
  readonly report?: ClientReport;
}

interface Waiting {
  readonly type: Answer['type'];
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export class Clients {
  readonly #child: ChildProcess;
  #waiting: Waiting[] = [];

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (answer: Answer) => {
      const at = this.#waiting.findIndex(({ type }) => type === answer.type);
      if (at !== -1) this.#waiting.splice(at, 1)[0]!.resolve(answer);
    });
    // Not `exit`: what it said last may still be on its way then.
    child.on('disconnect', () => {
      for (const { reject } of this.#waiting) reject(new Error('The process of the clients ended early.'));
      this.#waiting = [];
    });
  }

  static async start(order: ClientOrder): Promise<Clients> {
    const clients = new Clients(
      fork(new URL('./client-process.js', import.meta.url), { serialization: 'advanced' }),
    );
    await clients.#ask({ type: 'start', order }, 'begun');
    return clients;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async report(): Promise<ClientReport> {
    return (await this.#ask({ type: 'report' }, 'report')).report!;
  }

  /** They write no more, and look whether what they were told is there. */
  async finish(): Promise<ClientReport> {
    const { report } = await this.#ask({ type: 'finish' }, 'finished');
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
    return report!;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #ask(message: object, type: Answer['type']): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ type, resolve, reject });
      this.#child.send(message, (error) => {
        if (error) reject(error);
      });
    });
  }
}
