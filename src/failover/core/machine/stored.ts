/**
 * The state as the register holds it. It is written at every beat of every region, so it is packed: the names of the
 * regions stand in it once, and the words of this layout are short. It stays JSON, and what is packed is unpacked exactly,
 * with the fields that this version does not know. `parseState` reads this form and the plain one.
 */
import type { FailoverState } from './state.ts';

/** Of this way of packing. The list of words belongs to it: a word that comes later is simply written out. */
export const FORM = 1;

export interface StoredState {
  readonly form: number;
  readonly names: readonly string[];
  readonly state: unknown;
}

const WORDS =
  `schema minReader partitionSet gcn writer phase step target why quiesce final configuration leaseMs leaseSet regions
  removed raise pin paused damping open recent statistics history epoch lsn version priorities consistency staleness writes
  seconds minDurability wanted timings intervalMs settleMs failback windows from to maxLossWrites signals building
  incarnation beat seen missed live deaths good report progress gclsn reaches unable stop leaving cause acceptLoss failures
  wait vain id kind who end count average mean squares at what region`.split(/\s+/);

/** One or two letters for each word. */
const SHORT: ReadonlyMap<string, string> = new Map(WORDS.map((word, index) => [word, letters(index)]));
const LONG: ReadonlyMap<string, string> = new Map([...SHORT].map(([word, short]) => [short, word]));

/** Before the number of a name, and before a word that stands for itself though it looks like something packed. */
const NAME = '#';
const ITSELF = '=';

function letters(index: number): string {
  const letter = (at: number): string => String.fromCodePoint('a'.codePointAt(0)! + at);
  return index < 26 ? letter(index) : letter(Math.floor(index / 26) - 1) + letter(index % 26);
}

export function storedForm(state: FailoverState): StoredState {
  const names = Object.keys(state.regions);
  const numbers = new Map(names.map((name, index) => [name, NAME + String(index)]));
  const text = (value: string): string => numbers.get(value) ?? (looksPacked(value) ? ITSELF + value : value);
  const key = (word: string): string =>
    numbers.get(word) ?? SHORT.get(word) ?? (looksPacked(word) || LONG.has(word) ? ITSELF + word : word);
  return { form: FORM, names, state: walk(state, text, key) };
}

export function isStored(value: unknown): value is StoredState {
  const { form, names, state } = (
    typeof value === 'object' && value !== null ? value : {}
  ) as Partial<StoredState>;
  return typeof form === 'number' && Array.isArray(names) && state !== undefined;
}

export function unpacked({ names, state }: StoredState): unknown {
  const named = (value: string): string | undefined => names[Number(value.slice(1))];
  const text = (value: string): string => {
    if (value.startsWith(ITSELF)) return value.slice(1);
    return value.startsWith(NAME) ? (named(value) ?? value) : value;
  };
  return walk(state, text, (word) => LONG.get(word) ?? text(word));
}

function looksPacked(value: string): boolean {
  return value.startsWith(NAME) || value.startsWith(ITSELF);
}

/** At every beat of every region, twice: a loop costs half of what `Object.fromEntries` does. */
function walk(value: unknown, text: (value: string) => string, key: (word: string) => string): unknown {
  if (typeof value === 'string') return text(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => walk(item, text, key));
  const walked: Record<string, unknown> = {};
  for (const word of Object.keys(value)) {
    const item = walk((value as Record<string, unknown>)[word], text, key);
    const name = key(word);
    // An assignment to this name would not make a member.
    if (name === '__proto__')
      Object.defineProperty(walked, name, {
        value: item,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    else walked[name] = item;
  }
  return walked;
}
