/** A world in one line, for the steps of a counterexample. */
import type { Region, World } from './world.ts';

export function show({ register, regions, told, wrong }: World): string {
  const { gcn, phase, writer, leaseSet } = register;
  const head = `GCN ${gcn} ${phase}, writer ${writer ?? '-'}, lease set ${leaseSet.join('')}`;
  const parts = Object.entries(regions).map(([name, region]) => `${name}: ${showRegion(region)}`);
  return [
    head,
    ...parts,
    `told ${told === '' ? '-' : told}`,
    ...(wrong === '' ? [] : [`WRONG ${wrong}`]),
  ].join('; ');
}

function showRegion({ log, epoch, lease, grant, writer, gclsn, pending, ghost, isStopped }: Region): string {
  const words = [`log ${log === '' ? '-' : log}`, `epoch ${epoch}`];
  if (lease > 0) words.push(`lease ${lease}`);
  if (grant > 0) words.push(`grant ${grant}`);
  if (writer !== null) words.push(`writes with ${writer.commit}, committed ${gclsn}`);
  if (writer?.isQuiesced === true) words.push('quiesced');
  if (writer?.isMute === true) words.push('waits');
  if (pending !== null) words.push(pending.answer === null ? 'update sent' : 'update landed');
  if (ghost !== null) words.push('update unknown');
  if (isStopped) words.push('stopped');
  return words.join(' ');
}
