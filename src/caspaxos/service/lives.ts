/** The lives of an acceptor next to its disk, as its identity document keeps them (`core/life.ts`). */
import { randomBytes } from 'node:crypto';
import { type Configuration, lifeStanding, nextLife, recordedLife, settledLife } from '../core/index.ts';
import type { IdentityDocument } from '../stores/documents.ts';

/** For a start with the journal at that sequence number. */
export function withNextLife(identity: IdentityDocument, from: number): IdentityDocument {
  const drawn = { id: randomBytes(8).toString('hex'), from };
  return {
    ...identity,
    life: nextLife(drawn, identity.life, recordedLife(identity.configuration, identity.id)),
  };
}

/**
 * A configuration that is news. One that records a life that was never lived here says that another copy of this directory was started, and is in
 * use: this one refuses everything from then on, in every later life.
 */
export function withInstalled(identity: IdentityDocument, configuration: Configuration): IdentityDocument {
  const { id, life, retired } = identity;
  const recorded = recordedLife(configuration, id);
  const installed = { ...identity, cluster: configuration.cluster, configuration };
  if (life === undefined || recorded === undefined) return installed;
  if (retired !== undefined || lifeStanding(life, recorded) !== 'stranger')
    return { ...installed, life: settledLife(life, recorded) };
  const why =
    `This copy of acceptor ${id} is not used any more: the configuration names another life of it (${recorded.id}), ` +
    'so another copy was started, or this is an older one. Stop it; if there is no other, replace the acceptor.';
  return { ...installed, retired: { code: 'ACCEPTOR_SUPERSEDED', why, at: new Date().toISOString() } };
}
