/** An acceptor of which the configuration records that its memory is not whole: it is asked for nothing. */
import type { Acceptor } from './acceptors.ts';
import type { AcceptorMember, Retirement } from './core/index.ts';
import { CasPaxosError, isErrorCode, isLastingCode } from './errors.ts';
import type { Standing } from './service/wire.ts';

const MAX_WHY_LENGTH = 1000;

/** What is to be recorded of an acceptor that fails like that; undefined: it may be well again. */
export function retirementFor({ code, message }: CasPaxosError): Retirement | undefined {
  return isLastingCode(code) ? { code, why: message.slice(0, MAX_WHY_LENGTH) } : undefined;
}

export function retirementError({ code, why }: Retirement): CasPaxosError {
  return new CasPaxosError(isErrorCode(code) ? code : 'ACCEPTOR_BEHIND', why);
}

/**
 * What an acceptor service records of itself when somebody has `seen` more of it than it `told` him in the greeting of the same stream.
 * Throws when what it told is no less.
 */
export function retirementAsOldCopy(id: string, seen: Standing, told: Standing): Retirement {
  if (seen.sequence <= told.sequence && seen.set <= told.set)
    throw new CasPaxosError('PROTOCOL_MISMATCH', `Acceptor ${id} is no old copy of itself.`);
  const [what, was, is] =
    seen.set > told.set ? ['it knows set', seen.set, told.set] : ['it is at', seen.sequence, told.sequence];
  const why = `Acceptor ${id} is not used any more: ${what} ${is} but had been at ${was}, as from an old copy. Replace it.`;
  return { code: 'ACCEPTOR_BEHIND', why };
}

export function retiredAcceptor({ url }: AcceptorMember, retired: Retirement): Acceptor {
  const refuse = (): Promise<never> => Promise.reject(retirementError(retired));
  return {
    url,
    concurrency: 1,
    expect: () => {},
    describe: refuse,
    install: refuse,
    handle: refuse,
    list: refuse,
    close: () => Promise.resolve(),
  };
}
