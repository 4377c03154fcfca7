/**
 * The configurations of a module that has no counterpart in role classes: `spec/failover.tla`, `spec/damping.tla`,
 * `spec/replication.tla` and `spec/setchange.tla`.
 * The test suite runs the small ones; `full.ts` all of them, and with every `fail-` configuration its control: the same
 * configuration with nothing taken out, which must pass. So what fails, fails for the rule that is missing.
 */
import { type Manifest, type ManifestEntry, readManifest } from './bounds.ts';
import {
  check,
  configurationFrom,
  readConfiguration,
  readModule,
  type TlaModule,
  type Verdict,
} from './tla.ts';
import { type Configuration, withoutComments } from './tla-syntax.ts';

/** The modules, and the folders of their configurations. */
export const FAILOVER_SPECS = ['failover', 'damping'] as const;
export const WHOLE_SPECS = [...FAILOVER_SPECS, 'replication', 'setchange'] as const;

export class SpecRun {
  readonly manifest: Manifest;
  readonly module: TlaModule;
  readonly #folder: string;
  readonly #controls = new Map<string, Verdict>();

  constructor(folder: string) {
    this.#folder = folder;
    this.manifest = readManifest(folder);
    this.module = readModule(this.manifest.module);
  }

  configuration(name: string): Configuration {
    return readConfiguration(this.module, `${this.#folder}/${name}.cfg`);
  }

  check(name: string): Verdict {
    return check(this.module, this.configuration(name));
  }

  /** Configurations that take out different rules of the same model share their control. */
  checkControl(name: string): Verdict {
    const control = controlOf(this.configuration(name).source);
    const model = withoutComments(control).replace(/\s+/g, ' ');
    const known = this.#controls.get(model);
    if (known !== undefined) return known;
    const verdict = check(this.module, configurationFrom(this.module, `${name}, control`, control));
    this.#controls.set(model, verdict);
    return verdict;
  }
}

/** The configuration with every rule in force. */
function controlOf(source: string): string {
  const control = source.replace(/^( *Without = )\{.+\}$/m, '$1{}');
  if (control === source) throw new Error('nothing is taken out of this configuration');
  return control;
}

/** What a verdict must be: the number of states of one that passes, the invariant of one that does not. */
export function expectationOf({ expect: wanted }: ManifestEntry): string {
  if ('pass' in wanted) return `${wanted.pass} states`;
  return 'fails' in wanted ? `${wanted.fails} fails` : `Not${wanted.reaches} fails`;
}

export function resultOf(verdict: Verdict): string {
  return verdict.outcome === 'pass' ? `${verdict.states} states` : `${verdict.invariant} fails`;
}

/** The parts of rules that a configuration takes out. */
export function takenOut(configuration: Configuration): string[] {
  return configuration.constants.get('Without') as string[];
}

/** The names that a module gives to its guards. */
export function guardsOf(source: string): string[] {
  const list = /^Guards == \{([^}]*)\}/m.exec(source)?.[1] ?? '';
  return [...list.matchAll(/"([^"]+)"/g)].map(([, name]) => name!).sort();
}

/** Runs every configuration whose name has this part, prints a line for each, and says whether all went well. */
export function runWholeSpec(folder: string, part: string): boolean {
  const run = new SpecRun(folder);
  let allAsExpected = true;
  const report = (name: string, wanted: RegExp, work: () => Verdict): void => {
    const start = performance.now();
    const verdict = work();
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const result = resultOf(verdict);
    const trace = verdict.outcome === 'violated' ? `, trace of ${verdict.trace.length}` : '';
    const asExpected = wanted.test(result);
    allAsExpected &&= asExpected;
    const mark = asExpected ? 'as expected:' : 'NOT AS EXPECTED:';
    console.log(
      `${name.padEnd(46)} ${String(verdict.states).padStart(7)} states ${seconds.padStart(6)} s  ${mark} ${result}${trace}`,
    );
  };
  for (const entry of run.manifest.configurations.filter(({ name }) => name.includes(part))) {
    report(`${folder} ${entry.name}`, new RegExp(`^${expectationOf(entry)}$`), () => run.check(entry.name));
    if ('fails' in entry.expect) {
      report(`${folder} ${entry.name}, control`, /^\d+ states$/, () => run.checkControl(entry.name));
    }
  }
  return allAsExpected;
}
