/** CASPaxos proved three ways: the spec's configurations, the role classes against the spec, and mutants of the classes. */
import * as roles from 'baton/caspaxos';
import { hashOfKeys } from 'baton/check';
import { afterAll, assert, describe, expect, it } from 'vitest';
import { boundsOf, digestOf, readManifest } from './bounds.ts';
import { differenceBetween, exploreRoles } from './compare.ts';
import { GUARD_MUTANTS, OTHER_MUTANTS, type Patch, writeMutant } from './mutants.ts';
import { PLANTED_CONFIGURATION, PLANTED_STATES, SOUND_STATES } from './planted.ts';
import { invariantsFor } from './roles-invariants.ts';
import { keyOf, type ModelState, type RoleClasses, RolesModel } from './roles-model.ts';
import { RoleContractError } from './roles-replay.ts';
import {
  brokenIn,
  check,
  checkAndCollect,
  readConfiguration,
  readModule,
  type StateSet,
  type Verdict,
} from './tla.ts';

const module = readModule('caspaxos.tla');
const { configurations } = readManifest('caspaxos');
const suite = configurations.filter(({ large }) => !large);
const configuration = (name: string) => readConfiguration(module, `caspaxos/${name}.cfg`);

/** Each configuration is checked once; its verdict, or its states, serve several tests. */
const verdicts = new Map<string, Verdict>();
const states = new Map<string, StateSet>();

function verdictOn(name: string): Verdict {
  let verdict = verdicts.get(name) ?? states.get(name)?.verdict;
  if (verdict === undefined) verdicts.set(name, (verdict = check(module, configuration(name))));
  return verdict;
}

function statesOf(name: string): StateSet {
  let set = states.get(name);
  if (set === undefined) states.set(name, (set = checkAndCollect(module, configuration(name))));
  return set;
}

const table: string[][] = [['mutant', 'where', 'caught by', 'trace', 'in the spec']];

afterAll(() => {
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  const line = (row: string[]): string => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ');
  // oxlint-disable-next-line no-console
  console.log(table.map(line).join('\n'));
});

describe('spec/caspaxos.tla', () => {
  for (const { name, expect: wanted } of suite) {
    if ('pass' in wanted) {
      it(`${name}: ${wanted.pass} states`, () => {
        expect(statesOf(name).verdict).toEqual({ outcome: 'pass', states: wanted.pass });
      });
    } else {
      const invariant = 'fails' in wanted ? wanted.fails : `Not${wanted.reaches}`;
      it(`${name}: ${invariant} fails`, () => {
        expect(verdictOn(name)).toMatchObject({ outcome: 'violated', invariant });
      });
    }
  }
});

describe('the invariants, of the spec and of the model', () => {
  const read = configuration(PLANTED_CONFIGURATION);
  const bounds = boundsOf(read);
  const { initial } = new RolesModel(roles, bounds);
  const broken = (changes: Partial<ModelState>): { spec: string[]; model: string[] } => {
    const state = { ...initial, ...changes };
    const invariants = Object.entries(invariantsFor(bounds));
    const model = invariants.filter(([, holds]) => !holds(state)).map(([name]) => name);
    return { spec: brokenIn(module, read, keyOf(state)).sort(), model: model.sort() };
  };

  it('accept sound states', () => {
    for (const state of SOUND_STATES) expect(broken(state)).toEqual({ spec: [], model: [] });
  });

  for (const { broken: name, how, state } of PLANTED_STATES) {
    it(`${name} objects to ${how}`, () => {
      const { spec, model } = broken(state);
      expect(spec).toContain(name);
      expect(model).toEqual(spec);
    });
  }
});

describe('the role classes', () => {
  for (const { name } of suite.filter((entry) => 'pass' in entry.expect)) {
    it(`reach exactly the states of ${name}`, () => {
      const explored = exploreRoles(roles, configuration(name));
      assert(explored.outcome === 'complete', `outcome: ${explored.outcome}`);
      expect(differenceBetween(statesOf(name).keys, explored.keys)).toBe('');
    });
  }

  for (const { name, recorded } of configurations) {
    if (recorded === undefined) continue;
    it(`reach as many and the same states as were recorded for ${name}`, () => {
      expect(recorded.digest, 'the spec has changed: see spec/README.md').toBe(
        digestOf(module, configuration(name)),
      );
      const explored = exploreRoles(roles, configuration(name));
      assert(explored.outcome === 'complete', `outcome: ${explored.outcome}`);
      expect(hashOfKeys(explored.keys)).toBe(recorded.states);
    });
  }
});

describe('mutants of the role classes', () => {
  const load = async (id: string, patch: Patch): Promise<RoleClasses> =>
    (await import(/* @vite-ignore */ writeMutant(id, patch))) as RoleClasses;

  for (const mutant of GUARD_MUTANTS) {
    it(`${mutant.id} fails as ${mutant.configuration} does`, async () => {
      const mutated = mutant.patch === undefined ? roles : await load(mutant.id, mutant.patch);
      const explored = exploreRoles(mutated, configuration(mutant.configuration), mutant.bounds);
      assert(explored.outcome === 'violated', `outcome: ${explored.outcome}`);
      const inSpec = verdictOn(mutant.configuration);
      assert(inSpec.outcome === 'violated', `outcome in the spec: ${inSpec.outcome}`);
      expect(explored.invariant).toBe(inSpec.invariant);
      expect(explored.trace.length).toBe(inSpec.trace.length);
      const where = mutant.patch?.file ?? mutant.where!;
      table.push([mutant.id, where, explored.invariant, `${explored.trace.length}`, mutant.configuration]);
    });
  }

  it('every must-fail configuration has its mutant', () => {
    const covered = new Set(GUARD_MUTANTS.map((mutant) => mutant.configuration));
    const failing = configurations.filter((entry) => 'fails' in entry.expect).map(({ name }) => name);
    expect(failing.filter((name) => !covered.has(name))).toEqual([]);
  });

  for (const { id, about, patch, configuration: name, caughtBy } of OTHER_MUTANTS) {
    it(`${id}: ${about}`, async () => {
      const caught = catchIn(await load(id, patch), name);
      expect(caught.by).toBe(caughtBy);
      table.push([id, patch.file, caught.by, caught.trace, '']);
    });
  }

  function catchIn(mutated: RoleClasses, name: string): { by: string; trace: string } {
    try {
      const { keys } = statesOf(name);
      const explored = exploreRoles(mutated, configuration(name), { maxStates: 2 * keys.size });
      if (explored.outcome === 'violated')
        return { by: explored.invariant, trace: `${explored.trace.length}` };
      const same = explored.outcome === 'complete' && differenceBetween(keys, explored.keys) === '';
      return { by: same ? 'nothing' : 'states', trace: '' };
    } catch (error) {
      if (error instanceof RoleContractError) return { by: 'contract', trace: '' };
      throw error;
    }
  }
});
