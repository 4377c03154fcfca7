/** What an operator is told of an acceptor that is not believed (rule 11). */
import type { Doubt } from './core/index.ts';
import { CasPaxosError } from './errors.ts';

const SAID: Readonly<Record<Doubt, string>> = {
  impossible: 'it gave an answer that contradicts itself',
  'ballot far ahead': 'it has promised a ballot that is far ahead of every clock',
  'value unreadable': 'it holds a value that nobody can read',
  'two values': 'it holds another value under the same ballot than another acceptor',
};

/** `about`: the same for all registers of which the acceptor says such things. */
export function doubted(url: string, key: string, doubt: Doubt): { error: CasPaxosError; about: string } {
  const about = `${url} is not believed, and counts as down for the registers concerned: ${SAID[doubt]}`;
  return { about, error: new CasPaxosError('ACCEPTOR_DOUBTED', `${about} (register ${key}).`) };
}

export function setDoubted(number: number): CasPaxosError {
  const message = `An acceptor tells of a set of acceptors, ${number}, that the others have not decided: it is not believed.`;
  return new CasPaxosError('ACCEPTOR_DOUBTED', message);
}
