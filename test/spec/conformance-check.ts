/** Whether what a machine makes of recorded updates are steps of the spec, and which. */
import type { FailoverState, Machine } from 'baton/failover';
import { questionOf, type Recorded } from './conformance-projection.ts';
import { isStutter, SpecSteps } from './conformance-steps.ts';

/** An update that the spec does not allow. */
export interface Refused extends Recorded {
  readonly after: FailoverState;
}

/** Added to the steps of an election that the spec allows only when rule 11's first preferences are put into it. */
export const PREFERRING = "with rule 11's first preferences";

export interface Conformed {
  updates: number;
  /** Updates that change nothing that the spec knows of, or that the register turned down. */
  stutters: number;
  /** Updates by the steps of the spec that explain them. */
  readonly explained: Map<string, number>;
  readonly refused: Refused[];
}

export class Conformance {
  readonly spec = new SpecSteps();

  check(machine: Machine, updates: readonly Recorded[]): Conformed {
    const result: Conformed = { updates: 0, stutters: 0, explained: new Map(), refused: [] };
    for (const update of updates) {
      const verdict = machine(update.before, update.report);
      const after = verdict.verdict === 'accepted' ? verdict.state : update.before;
      result.updates += 1;
      this.#note(result, update, after);
    }
    return result;
  }

  /** The first update that an altered machine decides otherwise than the sound one, and that the spec does not allow. */
  firstRefused(altered: Machine, sound: Machine, updates: readonly Recorded[]): Refused | undefined {
    for (const update of updates) {
      const verdict = altered(update.before, update.report);
      if (verdict.verdict !== 'accepted') continue;
      if (JSON.stringify(verdict) === JSON.stringify(sound(update.before, update.report))) continue;
      const after = verdict.state;
      if (this.explain(update, after) === undefined) return { ...update, after };
    }
    return undefined;
  }

  /** The steps of the spec; none, if nothing changes that it knows of; undefined, if it does not allow that. */
  explain(update: Recorded, after: FailoverState): readonly string[] | undefined {
    const question = questionOf(update, after, 'plain');
    if (isStutter(question)) return [];
    return this.spec.explain(question) ?? this.#preferring(update, after) ?? this.#unrenewed(update, after);
  }

  #preferring(update: Recorded, after: FailoverState): readonly string[] | undefined {
    const isElection = update.before.phase === 'Ungraceful' && after.phase === 'Steady';
    const steps = isElection ? this.spec.explain(questionOf(update, after, 'preferring')) : undefined;
    return steps === undefined ? undefined : [...steps, PREFERRING];
  }

  #unrenewed(update: Recorded, after: FailoverState): readonly string[] | undefined {
    const { before, report } = update;
    const isWriter = report.type === 'region' && report.region === before.writer;
    const isRenewed = !isWriter || after.regions[report.region]!.beat > before.regions[report.region]!.beat;
    const isSame = after.gcn === before.gcn && after.leaseSet.join() === before.leaseSet.join();
    if (isRenewed || !isSame) return undefined;
    const steps = this.spec.explain(questionOf(update, after, 'unrenewed'));
    return steps === undefined ? undefined : [...steps, 'Tick'];
  }

  #note(result: Conformed, update: Recorded, after: FailoverState): void {
    const steps = this.explain(update, after);
    if (steps === undefined) {
      result.refused.push({ ...update, after });
      return;
    }
    if (steps.length === 0) {
      result.stutters += 1;
      return;
    }
    const said = steps.join(', then ');
    result.explained.set(said, (result.explained.get(said) ?? 0) + 1);
  }
}

/** For whoever has to find out who is right. */
export function showRefused({ before, report, after }: Refused): string {
  const { from, to, constants } = questionOf({ before, report }, after, 'plain');
  return [
    'The spec has no such step:',
    `  from   ${JSON.stringify(from)}`,
    `  to     ${JSON.stringify(to)}`,
    `  report ${JSON.stringify(report)}`,
    `  with  ${/Features = .*/.exec(constants)?.[0]}`,
  ].join('\n');
}
