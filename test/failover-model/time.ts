/** A tick: every right runs down, every wait goes on, and what is over is forgotten. */
import { withoutOldWaits } from './agent.ts';
import { down, fullLease, type Pending, type Region, type Setting, up, type WriterPart } from './world.ts';

export function ticked(setting: Setting, region: Region): Region {
  const enough = fullLease(setting);
  const next: Region = {
    ...region,
    bootTicks: region.isFresh ? up(region.bootTicks, enough) : 0,
    lease: down(region.lease),
    grant: down(region.grant),
    // A writer that has restarted says that rights of its earlier process may run for all of that yet: where worlds heal, that is waited for.
    watch: up(region.watch, setting.isTimed ? enough + 1 : enough),
    since: up(region.since, enough),
    step: setting.isTimed ? up(region.step, enough) : region.step,
    writer: region.writer === null ? null : tickedWriter(setting, region.writer),
    pending: region.pending === null ? null : tickedPending(region.pending, enough),
  };
  const isSame =
    next.bootTicks === region.bootTicks &&
    next.lease === region.lease &&
    next.grant === region.grant &&
    next.watch === region.watch &&
    next.since === region.since &&
    next.step === region.step &&
    next.writer === region.writer &&
    next.pending === region.pending;
  return isSame ? region : next;
}

function tickedWriter(setting: Setting, writer: WriterPart): WriterPart {
  const enough = fullLease(setting);
  const isIdle =
    writer.unfenced === '' &&
    !writer.isMute &&
    writer.held === '' &&
    Object.keys(writer.given).length === 0 &&
    !setting.isTimed;
  if (isIdle) return writer;
  const given = Object.fromEntries(
    Object.entries(writer.given).flatMap(([name, grant]) =>
      grant.ticks > 1 ? [[name, { ...grant, ticks: grant.ticks - 1 }]] : [],
    ),
  ) as WriterPart['given'];
  const quiet = Object.fromEntries(
    Object.entries(writer.quiet).map(([name, ticks]) => [name, up(ticks, enough)]),
  );
  const since = up(writer.since, enough);
  const heldFor = up(writer.heldFor, enough);
  return withoutOldWaits(setting, { ...writer, given, quiet, since, heldFor });
}

function tickedPending(pending: Pending, most: number): Pending {
  const age = up(pending.age, most);
  const answer =
    pending.answer === null ? null : { ...pending.answer, since: up(pending.answer.since, most) };
  const isSame = age === pending.age && answer?.since === pending.answer?.since;
  return isSame ? pending : { ...pending, age, answer };
}
