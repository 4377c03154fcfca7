/**
 * The URLs with which a cluster of acceptors is opened. Passwords of stores stand in the file under a name of their own, and
 * come into the URLs here: what this gives is for the one who opens them, and for nobody to print.
 */
import { withPassword } from '../../caspaxos/index.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { ConfigError, type Problem } from './problems.ts';
import { findSecret, Secret, type SecretPlaces } from './secrets.ts';
import { wrongPassword } from './values.ts';

/** Throws a ConfigError with the line of every password that is not there. */
export function acceptorUrls(
  { path, acceptors }: Pick<ClusterConfig, 'path' | 'acceptors'>,
  places: SecretPlaces,
): readonly string[] {
  const problems: Problem[] = [];
  const urls = acceptors.map(({ url, store }, index) => {
    if (store?.password === undefined) return store?.url ?? url;
    const found = findSecret(store.password, places, wrongPassword);
    if (found instanceof Secret) return withPassword(store.url, found.reveal());
    problems.push({ ...store.password.at, field: `acceptors[${index}].password`, sentence: found });
    return url;
  });
  if (problems.length > 0) throw new ConfigError('CONFIG_SECRET', path, problems);
  return urls;
}
