/** The failover state in a line, and what an update changed, in words: for transcripts and for failing tests. */
import {
  type Action,
  type FailoverState,
  type Progress,
  type RegionName,
  type RegionState,
  sentenceOf,
} from 'baton/failover';

export function lineOf(state: FailoverState): string {
  const { gcn, phase, writer, target, quiesce, final, leaseSet } = state;
  const end = final === undefined ? '' : `, final ${progressOf(final)}`;
  const doing = {
    Steady: `${writer} writes`,
    Graceful: `${writer} ${quiesce === true ? 'quiesces' : 'writes'} until ${target} takes over${end}`,
    Ungraceful: 'nobody writes',
  }[phase];
  const regions = Object.entries(state.regions).map(([name, region]) => regionOf(name, region));
  return [
    `GCN ${gcn} ${phase}: ${doing}`,
    `lease set ${leaseSet.join(' ')}`,
    regions.join(', '),
    ...extras(state),
  ].join('; ');
}

function progressOf({ epoch, lsn }: Progress): string {
  return `${epoch}:${lsn}`;
}

function regionOf(name: RegionName, region: RegionState): string {
  const { report, building, stop, leaving, missed, deaths } = region;
  const words = [
    report === undefined ? '-' : progressOf(report.progress),
    ...(building === true ? ['building'] : []),
    ...(leaving === true ? ['leaving'] : []),
    ...(stop === undefined ? [] : ['stopped']),
    ...(report?.unable === true ? ['unable'] : []),
    ...(report?.signals ?? []),
    ...(missed >= 2 ? ['missed'] : []),
    ...(deaths === undefined ? [] : [`died ${deaths}`]),
  ];
  return `${name} ${words.join(' ')}`;
}

function extras({ paused, pin, damping, open, recent, configuration }: FailoverState): readonly string[] {
  const { wanted } = configuration;
  return [
    ...(paused === true ? ['paused'] : []),
    ...(pin === undefined ? [] : [`pinned ${pin}`]),
    ...(damping.wait > 0 ? [`${damping.wait} beats until the next try`] : []),
    ...(wanted?.consistency === undefined ? [] : [`wants ${wanted.consistency}`]),
    ...(wanted?.minDurability === undefined ? [] : [`wants durability ${wanted.minDurability}`]),
    ...open.map(({ kind, target }) => `open: ${kind}${target === undefined ? '' : ` ${target}`}`),
    ...recent.slice(-1).map(({ kind, end }) => `last: ${kind} ${end}`),
  ];
}

/** What one update changed that an operator would want to know. */
export function changesOf(before: FailoverState, after: FailoverState): readonly string[] {
  const news = after.history.filter((entry) => !before.history.includes(entry));
  const isNewSet = before.leaseSet.join(' ') !== after.leaseSet.join(' ');
  return [
    ...news.map((entry) => sentenceOf(entry).replace(/^.*?Z: /, '')),
    ...(isNewSet ? [`The lease set is ${after.leaseSet.join(' ')}.`] : []),
    ...membersChanged(before, after),
    ...configurationChanged(before, after),
    ...after.recent
      .filter((closed) => !before.recent.includes(closed))
      .map(({ kind, end }) => `The intent ${kind} is ${end}.`),
    ...(after.final !== undefined && before.final === undefined
      ? [`The final progress is ${progressOf(after.final)}.`]
      : []),
    ...(before.damping.vain < after.damping.vain
      ? ['It can hardly write: the next election waits longer.']
      : []),
  ];
}

function membersChanged(before: FailoverState, after: FailoverState): readonly string[] {
  const was = Object.keys(before.regions);
  const is = Object.keys(after.regions);
  return [
    ...is.filter((name) => !was.includes(name)).map((name) => `${name} is new.`),
    ...was.filter((name) => !is.includes(name)).map((name) => `${name} is gone.`),
    ...is
      .filter((name) => before.regions[name]?.building === true && after.regions[name]!.building !== true)
      .map((name) => `${name} is built.`),
  ];
}

function configurationChanged(
  { configuration: was }: FailoverState,
  { configuration: is }: FailoverState,
): readonly string[] {
  return [
    ...(was.consistency === is.consistency ? [] : [`The level is ${is.consistency}.`]),
    ...(was.minDurability === is.minDurability ? [] : [`The minimum durability is ${is.minDurability}.`]),
    ...(was.priorities.join(' ') === is.priorities.join(' ')
      ? []
      : [`The priorities are ${is.priorities.join(' ')}.`]),
  ];
}

export function actionLine(action: Action): string {
  const { do: what, ...rest } = action;
  const words = Object.entries(rest).map(([name, value]) => `${name} ${valueOf(value)}`);
  return [what, ...words].join(', ');
}

function valueOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(' ');
  if (typeof value !== 'object' || value === null) return String(value);
  return `(${Object.values(value).join(' ')})`;
}
