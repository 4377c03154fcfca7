/** Who this process is to Azure when nobody gave it a key: a managed identity, an environment, a signed-in administrator. */
import { loadPeer } from './peer.ts';

/** As much of a token credential as Azure's clients ask for. */
export interface AzureCredential {
  getToken(
    scopes: string | string[],
    options?: object,
  ): Promise<{ token: string; expiresOnTimestamp: number } | null>;
}

/** Not written where it is used, so that nobody who has a key needs the package, not even to compile. */
const IDENTITY_PACKAGE: string = '@azure/identity';

export async function defaultAzureCredential(scheme: string): Promise<AzureCredential> {
  const identity = await loadPeer(
    `${scheme} (without a key)`,
    IDENTITY_PACKAGE,
    () => import(IDENTITY_PACKAGE) as Promise<{ DefaultAzureCredential: new () => AzureCredential }>,
  );
  return new identity.DefaultAzureCredential();
}
