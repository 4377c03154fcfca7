/** The clients of other people's stores are optional: whoever uses a store installs its package, nobody else needs it. */
import { CasPaxosError } from '../errors.ts';

/** `load` is `() => import('pg')`: written where it is used, so that compilers and bundlers see what is meant. */
export async function loadPeer<T>(scheme: string, install: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error)) throw error;
    const message = `Acceptors with ${scheme} URLs need an npm package that is not installed; run: npm install ${install}`;
    throw new CasPaxosError('PACKAGE_MISSING', message, { cause: error });
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
}
