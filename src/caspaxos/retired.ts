/** An acceptor of which the configuration records that its memory is not whole: it is asked for nothing. */
import type { Acceptor } from './acceptors.ts';
import type { AcceptorMember, Retirement } from './core/index.ts';
import { CasPaxosError, isErrorCode, isLastingCode } from './errors.ts';

const MAX_WHY_LENGTH = 1000;

/** What is to be recorded of an acceptor that fails like that; undefined: it may be well again. */
export function retirementFor({ code, message }: CasPaxosError): Retirement | undefined {
  return isLastingCode(code) ? { code, why: message.slice(0, MAX_WHY_LENGTH) } : undefined;
}

export function retirementError({ code, why }: Retirement): CasPaxosError {
  return new CasPaxosError(isErrorCode(code) ? code : 'ACCEPTOR_BEHIND', why);
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
