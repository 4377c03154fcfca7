/** How long writes were interrupted and how soon that was detected: the paper's Figures 7 and 8, live. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Recovery, RecoveryKind } from '../state/recovery.ts';
import { percentiles, sorted } from '../state/statistics.ts';
import { causeInWords } from '../state/timeline.ts';
import { useRarely, useSeen, useStore } from '../store.ts';
import { DoneChart, DurationBars } from './duration-charts.tsx';
import { clock, count, duration } from './format.ts';
import { Card, Choice, Empty, RegionBadge, Scroll, Tile } from './parts.tsx';
import { setAddress } from './route.ts';

const KINDS = [
  ['failover', 'Failovers'],
  ['planned', 'Planned moves'],
] as const;

const ROWS = 25;

export function RecoveryView(): JSX.Element {
  const open = useSeen((model) => model.recoveries.openLosses);
  const [kind, setKind] = useState<RecoveryKind>('failover');
  const { recovery, detection, of } = useDurations(kind);
  const times = percentiles(recovery);
  const name = kind === 'failover' ? 'failovers' : 'planned moves';
  return (
    <>
      <h1>Recovery</h1>
      <div class="bar">
        <Choice label="Kind" value={kind} options={KINDS} onChange={setKind} />
        <p class="note">
          The time from when a write region stops accepting writes until a region accepts them again, as
          observed by this page.
          {open > 0 && <b> {count(open)} still interrupted.</b>}
        </p>
      </div>
      <dl class="tiles">
        <Tile name="Observed" value={count(of.length)} detail={name} />
        <Tile name="Median" value={seconds(times?.p50)} detail="until writes resume" />
        <Tile name="90th percentile" value={seconds(times?.p90)} />
        <Tile name="99th percentile" value={seconds(times?.p99)} />
        <Tile name="Maximum" value={seconds(times?.max)} />
        <Tile
          name="Median detection"
          value={seconds(percentiles(detection)?.p50)}
          detail="until the GCN is raised"
        />
      </dl>
      {times === undefined ? (
        <Card title="Recovery times">
          <Empty>
            No {name} since this page was opened.{' '}
            {kind === 'failover'
              ? 'On a local cluster, kill a region in the Fleet view to trigger failovers.'
              : ''}
          </Empty>
        </Card>
      ) : (
        <div class="pair">
          <Card title="Distribution of recovery times" note="Bars: writes resumed. Outlined: GCN raised.">
            <DurationBars recovery={recovery} detection={detection} />
          </Card>
          <Card title="Cumulative share" note="Solid: writes resumed. Dashed: GCN raised.">
            <DoneChart recovery={recovery} detection={detection} />
          </Card>
        </div>
      )}
      {of.length > 0 && (
        <Card title={`Latest ${name}`}>
          <RecoveryTable recoveries={of.slice(-ROWS).toReversed()} />
        </Card>
      )}
    </>
  );
}

/** Of one kind; in seconds, sorted. */
function useDurations(kind: RecoveryKind): {
  readonly of: readonly Recovery[];
  readonly recovery: readonly number[];
  readonly detection: readonly number[];
} {
  const { recoveries } = useStore().model;
  const version = useSeen((model) => model.recoveries.count);
  return useRarely(
    () => {
      const of = recoveries.recoveries.filter((one) => one.kind === kind);
      return {
        of,
        recovery: sorted(of.map(({ recoveryMs }) => recoveryMs / 1000)),
        detection: sorted(
          of.flatMap(({ detectionMs }) => (detectionMs === undefined ? [] : detectionMs / 1000)),
        ),
      };
    },
    version,
    kind,
  );
}

function seconds(value: number | undefined): string {
  return value === undefined ? '–' : duration(value * 1000);
}

function RecoveryTable({ recoveries }: { readonly recoveries: readonly Recovery[] }): JSX.Element {
  return (
    <Scroll label="Latest recoveries">
      <table>
        <thead>
          <tr>
            <th scope="col">time</th>
            <th scope="col">partition-set</th>
            <th scope="col">from</th>
            <th scope="col">to</th>
            <th scope="col">cause</th>
            <th scope="col" class="number">
              detected after
            </th>
            <th scope="col" class="number">
              resumed after
            </th>
          </tr>
        </thead>
        <tbody>
          {recoveries.map((one) => (
            <tr key={`${one.partitionSet} ${one.at}`}>
              <td>{clock(one.at)}</td>
              <td>
                <a href={setAddress(one.partitionSet)}>{one.partitionSet}</a>
              </td>
              <td>
                <RegionBadge name={one.from} />
              </td>
              <td>
                <RegionBadge name={one.to} />
              </td>
              <td>{causeInWords(one.cause)}</td>
              <td class="number">{duration(one.detectionMs)}</td>
              <td class="number">{duration(one.recoveryMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
