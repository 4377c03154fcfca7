/** Runs `baton acceptors` in this process, and collects what it says. */
import { Command } from 'commander';
import type { Stage } from '../../operate/stage.ts';
import { acceptorsCommand } from '../command.ts';

export interface Ran {
  readonly out: string;
  readonly err: string;
  readonly code: number | undefined;
}

interface Person {
  /** Of somebody at a terminal; nobody is there if absent. */
  readonly answer: string;
}

export async function baton(...given: readonly (string | Person)[]): Promise<Ran> {
  const args = given.filter((one) => typeof one === 'string');
  const person = given.find((one) => typeof one !== 'string');
  let [out, err] = ['', ''];
  let code: number | undefined;
  const stage: Stage = {
    env: {},
    cwd: '/',
    isTerminal: false,
    who: 'somebody',
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    ...(person && { ask: async () => person.answer }),
    now: () => 0,
    sleep: async () => true,
    newId: () => 'id',
    end: (exit) => void (code = exit),
  };
  const program = new Command('baton').addCommand(acceptorsCommand(stage));
  await program.parseAsync(['node', 'baton', 'acceptors', ...args]);
  return { out, err, code };
}
