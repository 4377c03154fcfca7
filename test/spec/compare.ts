/**
 * Spec against classes: the checker's reachable states and the explorer's, for one configuration, as sets of canonical
 * JSON. Equal sets have equal hashes; unequal ones are shown by examples of states that one side alone reaches.
 */
import { differenceOfKeys, type Exploration, explore, formatDifference, hashOfKeys } from 'baton/check';
import { type Bounds, boundsOf } from './bounds.ts';
import { invariantsFor } from './roles-invariants.ts';
import { keyOf, type ModelState, type RoleClasses, RolesModel } from './roles-model.ts';
import { type Configuration, TlaError } from './tla-syntax.ts';

const MAX_STATES = 2_000_000;

/** The states of the model over these classes, under the invariants that the configuration names. */
export function exploreRoles(
  roles: RoleClasses,
  configuration: Configuration,
  { maxStates = MAX_STATES, ...changed }: Partial<Bounds> & { readonly maxStates?: number } = {},
): Exploration<ModelState> {
  const bounds = { ...boundsOf(configuration), ...changed };
  const model = new RolesModel(roles, bounds);
  const all = invariantsFor(bounds);
  const named = configuration.invariants.map((name) => {
    const holds = all[name];
    if (holds === undefined) throw new TlaError('invariant', `the model has no invariant ${name}`);
    return [name, holds] as const;
  });
  return explore({
    initial: [model.initial],
    successors: (state) => model.successors(state),
    key: keyOf,
    invariants: Object.fromEntries(named),
    maxStates,
  });
}

/** Empty if the sets are equal. */
export function differenceBetween(spec: ReadonlySet<string>, roles: ReadonlySet<string>): string {
  if (hashOfKeys(spec) === hashOfKeys(roles) && spec.size === roles.size) return '';
  return formatDifference(differenceOfKeys(spec, roles), 'the spec', 'the roles');
}
