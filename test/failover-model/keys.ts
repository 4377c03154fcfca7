/**
 * Keys: two worlds with one key are one world. The register is canonical already; regions are objects that many worlds
 * share, so the key of each is made once, and is a number.
 */
import type { Register } from './register.ts';
import type { Answer, Draft, Region, World, WriterPart } from './world.ts';

export class Keys {
  readonly #register: Register;
  readonly #numbers = new Map<string, number>();
  readonly #known = new WeakMap<Region, number>();

  constructor(register: Register) {
    this.#register = register;
  }

  of(world: World): string {
    const { left, told, read, wrong, lost, isWeakened } = world;
    let key = this.#register.keyOf(world.register);
    for (const name in world.regions) key += `;${this.#ofRegion(world.regions[name]!)}`;
    const rest = `${told},${read},${wrong},${lost.join(' ')}${isWeakened ? 'W' : ''}`;
    return `${key};${rest},${left.slow}${left.unknown}${left.restarts}${left.switchovers}${left.forced}`;
  }

  #ofRegion(region: Region): number {
    let number = this.#known.get(region);
    if (number !== undefined) return number;
    const key = keyOfRegion(region, this.#register);
    number = this.#numbers.get(key);
    if (number === undefined) this.#numbers.set(key, (number = this.#numbers.size));
    this.#known.set(region, number);
    return number;
  }
}

function keyOfRegion(region: Region, register: Register): string {
  const { log, epoch, gclsn, incarnation, bootTicks, bootEpoch, lease, grant, watch, since, step } = region;
  const { isFresh, isStopped, writer, pending, ghost, ack } = region;
  const flags = `${isFresh ? 'F' : ''}${isStopped ? 'S' : ''}`;
  const numbers = [epoch, gclsn, incarnation, bootTicks, bootEpoch, lease, grant, watch, since, step];
  const parts = [
    writer === null ? '' : keyOfWriter(writer),
    pending === null ? '' : keyOfPending(pending, register),
    ghost === null ? '' : keyOfDraft(ghost),
    ack === null ? '' : `${ack.epoch}.${ack.lsn}`,
  ];
  return `${log},${numbers.join()},${flags},${parts.join('|')}`;
}

function keyOfWriter(writer: WriterPart): string {
  const { known, maybe, commit, lease, taken, unfenced, since, held, heldFor } = writer;
  const given = Object.entries(writer.given).map(
    ([name, { ticks, incarnation }]) => `${name}${ticks}.${incarnation}`,
  );
  const levels = `${writer.serves[1]}${writer.keeps[1]}${writer.keptFrom}`;
  const flags = `${writer.isQuiesced ? 'Q' : ''}${writer.isMute ? 'M' : ''}${writer.isGranting ? 'G' : ''}${writer.mayBeWeaker ? 'W' : ''}${levels}`;
  const lists = [listed(writer.acks), given.sort().join('+'), listed(writer.quiet)];
  return `${known}/${maybe}/${commit}/${lease}/${taken}/${unfenced}/${since}/${held}/${heldFor}/${flags}/${lists.join('/')}`;
}

function listed(numbers: Readonly<Record<string, number>>): string {
  return Object.keys(numbers)
    .sort()
    .map((name) => `${name}${numbers[name]}`)
    .join('');
}

function keyOfPending({ draft, age, answer }: NonNullable<Region['pending']>, register: Register): string {
  if (answer === null) return `${keyOfDraft(draft)}@${age}`;
  // Of a draft that has landed, its asks alone still matter: if the answer is lost.
  const { writer, gcn } = draft;
  return `${gcn}+${writer?.add}-${writer?.remove}${writer?.ready}@${age}${keyOfAnswer(answer, register)}`;
}

function keyOfAnswer(answer: Answer, register: Register): string {
  const flags = [answer.isRenewed, answer.isFound, answer.isBeatOfNow, answer.isStepOfNow]
    .map(Number)
    .join('');
  return `>${answer.verdict[0]}${register.keyOf(answer.state)}.${flags}.${answer.since}`;
}

function keyOfDraft(draft: Draft): string {
  return JSON.stringify(draft);
}
