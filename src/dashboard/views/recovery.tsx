/** How long writes were away and how soon that was noticed: the paper's Figures 7 and 8, live. */
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
  const { recoveries } = useStore().model;
  const version = useSeen((model) => model.recoveries.count);
  const open = useSeen((model) => model.recoveries.openLosses);
  const [kind, setKind] = useState<RecoveryKind>('failover');
  const { recovery, detection, of } = useRarely(
    () => {
      const all = recoveries.recoveries.filter((one) => one.kind === kind);
      return {
        of: all,
        recovery: sorted(all.map(({ recoveryMs }) => recoveryMs / 1000)),
        detection: sorted(
          all.flatMap(({ detectionMs }) => (detectionMs === undefined ? [] : detectionMs / 1000)),
        ),
      };
    },
    version,
    kind,
  );
  const times = percentiles(recovery);
  const name = kind === 'failover' ? 'failovers' : 'planned moves';
  return (
    <>
      <h1>Recovery</h1>
      <div class="bar">
        <Choice label="Which" value={kind} options={KINDS} onChange={setKind} />
        <p class="note">
          From when the write region could not write any more to when one can again, as this page saw it.
          {open > 0 && <b> {count(open)} not back yet.</b>}
        </p>
      </div>
      <dl class="tiles">
        <Tile name="Seen" value={count(of.length)} detail={name} />
        <Tile name="Half within" value={seconds(times?.p50)} detail="to writes again" />
        <Tile name="90 % within" value={seconds(times?.p90)} />
        <Tile name="99 % within" value={seconds(times?.p99)} />
        <Tile name="All within" value={seconds(times?.max)} />
        <Tile name="Noticed, half within" value={seconds(percentiles(detection)?.p50)} detail="GCN raised" />
      </dl>
      {times === undefined ? (
        <Card title="Recovery times">
          <Empty>
            No {name} since the page was opened.{' '}
            {kind === 'failover' ? 'On a local cluster, take a region down on the fleet page.' : ''}
          </Empty>
        </Card>
      ) : (
        <div class="pair">
          <Card title="How many took how long" note="Bars: writes back. Outlined: noticed.">
            <DurationBars recovery={recovery} detection={detection} />
          </Card>
          <Card title="Share that was done by then" note="Full line: writes back. Dashed: noticed.">
            <DoneChart recovery={recovery} detection={detection} />
          </Card>
        </div>
      )}
      {of.length > 0 && (
        <Card title={`The latest ${name}`}>
          <RecoveryTable recoveries={of.slice(-ROWS).toReversed()} />
        </Card>
      )}
    </>
  );
}

function seconds(value: number | undefined): string {
  return value === undefined ? '–' : duration(value * 1000);
}

function RecoveryTable({ recoveries }: { readonly recoveries: readonly Recovery[] }): JSX.Element {
  return (
    <Scroll label="The latest recoveries">
      <table>
        <thead>
          <tr>
            <th scope="col">at</th>
            <th scope="col">partition-set</th>
            <th scope="col">from</th>
            <th scope="col">to</th>
            <th scope="col">because</th>
            <th scope="col" class="number">
              noticed after
            </th>
            <th scope="col" class="number">
              back after
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
