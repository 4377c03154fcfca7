/**
 * Plays a fleet for transcripts:
 *
 *   regions A B C [level=Session] [durability=2] [profile=fast] [at=12:00] [failback=off|22:00-06:00]
 *   run 45s             time passes (also 500ms, 10m); prints what an operator would be told
 *   kill A, start A, stop A                 a process dies, begins anew, stops on purpose
 *   cut A B, mend A B                       the line between two regions
 *   cutoff A, reconnect A                   the line to the registers
 *   disk A broken|fine                      whether it can commit
 *   signal A disk-failing, signal A         a health signal that is up; none
 *   version A 1                             the machine that it runs
 *   writes 5                                how many writes come in on each tick; 0 stops them
 *   intent switchover C [gcn=1] [id=x]      what an operator wants; JSON where it needs more words
 *   state, actions A, history
 */
import { actionsFor, type Configuration, type IntentBody, PROFILES, sentenceOf } from 'baton/failover';
import type { Scene } from '../caspaxos/transcripts.ts';
import { Fleet } from './fleet.ts';
import { configurationOf } from './reports.ts';
import { actionLine, lineOf } from './print.ts';

export class FailoverScene implements Scene {
  #fleet: Fleet | undefined;

  run(words: readonly string[]): readonly string[] {
    const [command = '', ...rest] = words;
    if (command === 'regions') {
      this.#fleet = newFleet(rest);
      return [lineOf(this.#fleet.state)];
    }
    const asked = this.#ask(command, rest);
    if (asked !== undefined) return asked;
    this.#do(command, rest);
    return this.#there.events();
  }

  get #there(): Fleet {
    if (this.#fleet === undefined) throw new Error('the regions come first');
    return this.#fleet;
  }

  #ask(command: string, [name = '']: readonly string[]): readonly string[] | undefined {
    const { state } = this.#there;
    switch (command) {
      case 'state':
        return [lineOf(state)];
      case 'actions':
        return actionsFor(state, name).map((action) => `${name}: ${actionLine(action)}`);
      case 'history':
        return state.history.map(sentenceOf);
      default:
        return undefined;
    }
  }

  #do(command: string, rest: readonly string[]): void {
    const [first = '', second = ''] = rest;
    switch (command) {
      case 'run':
        return this.#there.run(durationOf(first));
      case 'kill':
        return this.#there.kill(first);
      case 'start':
        return this.#there.start(first);
      case 'stop':
        return this.#there.stop(first);
      case 'intent': {
        const { body, changes } = intentOf(rest);
        return this.#there.post(body, changes);
      }
      case 'writes':
        this.#there.writes = Number(first);
        return undefined;
      default:
        return this.#turn(command, first, second, rest);
    }
  }

  #turn(command: string, first: string, second: string, rest: readonly string[]): void {
    const node = this.#there.node(first);
    switch (command) {
      case 'cut':
        node.cuts.add(second);
        return;
      case 'mend':
        node.cuts.delete(second);
        return;
      case 'cutoff':
      case 'reconnect':
        node.isCutOff = command === 'cutoff';
        return;
      case 'disk':
        node.canCommit = second === 'fine';
        return;
      case 'signal':
        node.signals = rest.slice(1);
        return;
      case 'version':
        node.version = Number(second);
        return;
      default:
        throw new Error(`there is no command ${command}`);
    }
  }
}

function newFleet(words: readonly string[]): Fleet {
  const options = Object.fromEntries(
    words.filter((word) => word.includes('=')).map((word) => word.split('=')),
  );
  const priorities = words.filter((word) => !word.includes('='));
  const changes: Partial<Configuration> = {
    priorities,
    minDurability: Number(options['durability'] ?? 1),
    timings: PROFILES[(options['profile'] ?? 'paper') as 'paper' | 'fast'],
    ...(options['level'] !== undefined && { consistency: options['level'] as Configuration['consistency'] }),
    ...(options['failback'] !== undefined && { failback: failbackOf(options['failback']) }),
  };
  return Fleet.of(configurationOf(changes), `2026-03-01T${options['at'] ?? '00:00'}:00.000Z`);
}

function failbackOf(word: string): Configuration['failback'] {
  if (word === 'off' || word === 'automatic') return word;
  const [from = '', to = ''] = word.split('-');
  return { windows: [{ from, to }] };
}

function durationOf(word: string): number {
  const [, amount, unit] = /^([\d.]+)(ms|s|m)$/.exec(word) ?? [];
  if (amount === undefined) throw new Error(`${word} is not a duration`);
  return Number(amount) * { ms: 1, s: 1000, m: 60_000 }[unit as 'ms' | 's' | 'm'];
}

/** `switchover C gcn=1`, or the body as JSON: `{"kind":"signals",...} id=x`. */
function intentOf(words: readonly string[]): { body: IntentBody; changes: { id?: string; gcn?: number } } {
  const options = Object.fromEntries(
    words.filter((word) => /^\w+=/.test(word)).map((word) => word.split('=')),
  );
  const plain = words.filter((word) => !/^\w+=/.test(word));
  const changes = {
    ...(options['id'] !== undefined && { id: options['id'] }),
    ...(options['gcn'] !== undefined && { gcn: Number(options['gcn']) }),
  };
  const text = plain.join(' ');
  if (text.startsWith('{')) return { body: JSON.parse(text) as IntentBody, changes };
  const [kind, target] = plain;
  return { body: { kind, ...(target !== undefined && { target }) } as IntentBody, changes };
}
