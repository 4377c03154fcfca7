/** What `baton doctor` finds of writes that were lost, and of copies that refuse to lose them. */
import type { Evidence, Finding } from './checks.ts';
import { plural, someOf } from './output.ts';
import type { LocalView } from './shapes.ts';

/** Somebody had been told that a write was done, and it is not there: never a warning. */
export function lost(evidence: Evidence): Finding[] {
  const remedy = 'Look at them: baton lost-writes. Then say baton lost-writes reapply, or dismiss.';
  const acknowledged = openLosses(evidence, ({ undoneCommitted }) => undoneCommitted);
  const others = openLosses(evidence, ({ undoneWrites, undoneCommitted }) => undoneWrites - undoneCommitted);
  return [
    ...refusals(evidence),
    ...acknowledged.map(({ count, where }): Finding => ({
      severity: 'critical',
      finding: `${plural(count, 'acknowledged write was', 'acknowledged writes were')} undone in ${where}.`,
      means:
        'Their clients had been told that they were written, and others may have read them. At Strong that takes a lost disk, or a failover with --accept-loss.',
      remedy,
    })),
    ...others.map(({ count, where }): Finding => ({
      severity: 'warning',
      finding: `${plural(count, 'lost write is', 'lost writes are')} open in ${where}.`,
      means: 'A failover undid what a region had taken and did not know to be committed.',
      remedy,
    })),
  ];
}

interface Losses {
  readonly count: number;
  /** In which partition-sets, and which regions keep them. */
  readonly where: string;
}

/** At most one: all of them together. */
function openLosses({ view }: Evidence, countOf: (local: LocalView) => number): readonly Losses[] {
  const open = view.partitionSets.flatMap(({ name, local }) =>
    Object.entries(local).flatMap(([region, said]) => {
      const count = countOf(said);
      return count <= 0 ? [] : [{ name, region, count }];
    }),
  );
  if (open.length === 0) return [];
  const count = open.reduce((sum, one) => sum + one.count, 0);
  const regions = [...new Set(open.map(({ region }) => region))].join(', ');
  const names = someOf([...new Set(open.map(({ name }) => name))]);
  return [{ count, where: `${names} (kept in ${regions})` }];
}

/** A copy that knows of committed writes which the write region lacks. */
function refusals({ view }: Evidence): Finding[] {
  const found = new Map<string, string[]>();
  for (const { name, local } of view.partitionSets) {
    for (const [region, { refuses }] of Object.entries(local)) {
      if (refuses == null) continue;
      const key = `${region} does not follow ${refuses}`;
      found.set(key, [...(found.get(key) ?? []), name]);
    }
  }
  return [...found].map(([who, names]) => ({
    severity: 'critical',
    finding: `${who} in ${someOf(names)}: the write region lacks committed writes.`,
    means:
      'The disk of the write region lost what had been acknowledged. The copy that has it keeps it, and takes no part until it is followed or given up.',
    remedy:
      'To keep those writes: baton failover --to that region, with --accept-loss if it is not in the lease set. To give them up: remove that region and add it again.',
  }));
}
