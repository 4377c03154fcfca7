/** The seed of a run's choices: `BATON_SEED` repeats those of an earlier run, though not what the machine made of them. */
import { randomInt } from 'node:crypto';

export function chosenSeed(): number {
  const given = process.env['BATON_SEED'];
  return given === undefined ? randomInt(2 ** 31) : Number(given);
}
