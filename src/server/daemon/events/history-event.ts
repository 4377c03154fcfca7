/** A change of the history as listeners get it: with the regions' parts in it, and a sentence without the time. */
import { sentenceOf } from '../../../failover/index.ts';
import type { KeptEntry } from '../history.ts';
import type { EventData } from './schemas.ts';

export function historyEventOf(entry: KeptEntry): EventData<'history'>['entries'][number] {
  const { n, partitionSet, at, what, who, why, from, to, region } = entry;
  const isLoss = what === 'raised';
  const sentence = sentenceOf(entry);
  return {
    n,
    partitionSet,
    at: Date.parse(at) || 0,
    what,
    cause: why,
    who,
    gcn: to,
    fromGcn: from,
    from: isLoss ? region : null,
    to: isLoss ? null : region,
    sentence: sentence.startsWith(`${at}: `) ? sentence.slice(at.length + 2) : sentence,
  };
}
