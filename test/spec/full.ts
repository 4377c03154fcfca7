/**
 * The whole of the specs: every configuration, the large ones too, and for each of CASPaxos that passes the comparison
 * of its states with those of the role classes. Tens of minutes. Run it after `npx tsc -b`:
 *
 *     node build/test/spec/full.js [--record] [part of a configuration's name]
 *
 * With `--record` it writes down the hash of the states of those configurations that have one in the manifest.
 */
import * as roles from 'baton/caspaxos';
import { hashOfKeys } from 'baton/check';
import { digestOf, type ManifestEntry, readManifest, writeManifest } from './bounds.ts';
import { differenceBetween, exploreRoles } from './compare.ts';
import { runWholeSpec, WHOLE_SPECS } from './failover-run.ts';
import { check, checkAndCollect, readConfiguration, readModule, type TlaModule } from './tla.ts';

interface Row {
  readonly name: string;
  readonly states: number;
  readonly seconds: string;
  readonly result: string;
  readonly entry: ManifestEntry;
}

function timed<T>(work: () => T): [T, string] {
  const start = performance.now();
  const result = work();
  return [result, ((performance.now() - start) / 1000).toFixed(1)];
}

function runOne(module: TlaModule, entry: ManifestEntry): Row {
  const { name, expect: wanted } = entry;
  const configuration = readConfiguration(module, `caspaxos/${name}.cfg`);
  if (!('pass' in wanted)) {
    const [verdict, seconds] = timed(() => check(module, configuration));
    const invariant = 'fails' in wanted ? wanted.fails : `Not${wanted.reaches}`;
    const asExpected = verdict.outcome === 'violated' && verdict.invariant === invariant;
    const trace = verdict.outcome === 'violated' ? `, trace of ${verdict.trace.length}` : '';
    return {
      name,
      states: verdict.states,
      seconds,
      result: `${mark(asExpected)} ${invariant}${trace}`,
      entry,
    };
  }
  const [{ keys }, seconds] = timed(() => checkAndCollect(module, configuration));
  const [explored, more] = timed(() => exploreRoles(roles, configuration));
  const difference =
    explored.outcome === 'complete'
      ? differenceBetween(keys, explored.keys)
      : `the roles: ${explored.outcome}`;
  if (difference !== '') console.log(`${name}: ${difference}`);
  const result = `${mark(keys.size === wanted.pass && difference === '')} roles ${more} s`;
  const recorded = { digest: digestOf(module, configuration), states: hashOfKeys(keys) };
  return { name, states: keys.size, seconds, result, entry: entry.recorded ? { ...entry, recorded } : entry };
}

const mark = (asExpected: boolean): string => (asExpected ? 'as expected:' : 'NOT AS EXPECTED:');

function main(flags: readonly string[]): void {
  const part = flags.find((flag) => !flag.startsWith('--')) ?? '';
  const manifest = readManifest('caspaxos');
  const module = readModule(manifest.module);
  const configurations = manifest.configurations.map((entry) => {
    if (!entry.name.includes(part)) return entry;
    const row = runOne(module, entry);
    console.log(
      `${row.name.padEnd(28)} ${String(row.states).padStart(7)} states ${row.seconds.padStart(6)} s  ${row.result}`,
    );
    if (row.result.startsWith('NOT')) process.exitCode = 1;
    return row.entry;
  });
  if (flags.includes('--record')) writeManifest('caspaxos', { ...manifest, configurations });
  for (const name of WHOLE_SPECS) if (!runWholeSpec(name, part)) process.exitCode = 1;
}

main(process.argv.slice(2));
