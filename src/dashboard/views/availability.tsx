/** Write availability over time, stacked by region: the paper's Figure 6, live. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { type Sample, shareOver, stacked } from '../state/availability.ts';
import { useSeen, useStore } from '../store.ts';
import { axis, bottomAxis, Chart, type ChartData } from './chart.tsx';
import { colours, PALETTE, regionClass } from './colours.ts';
import { clock, count, duration, percent } from './format.ts';
import { Card, Choice, Empty, Scroll, Tile } from './parts.tsx';

const RANGES = [
  [2, '2 min'],
  [10, '10 min'],
  [30, '30 min'],
] as const;

export function AvailabilityView(): JSX.Element {
  const [minutes, setMinutes] = useState(10);
  const { availability, fleet } = useStore().model;
  useSeen((model) => model.availability.last?.at);
  const now = Date.now();
  const seenMs = now - (availability.samples[0]?.at ?? now);
  return (
    <>
      <h1>Availability</h1>
      <dl class="tiles">
        {RANGES.map(([range, name]) => (
          <Tile
            key={range}
            name={`Last ${name}`}
            value={percent(shareOver(availability.samples, now - range * 60_000))}
            detail={seenMs < range * 60_000 ? `over the ${duration(seenMs)} observed` : 'all partition-sets'}
          />
        ))}
        <Tile
          name="Lowest"
          value={percent(worst(availability.samples, now - minutes * 60_000))}
          detail={`in the last ${minutes} min`}
        />
      </dl>
      <Card
        title="Writable partition-sets by region"
        tools={<Choice label="Time range" value={minutes} options={RANGES} onChange={setMinutes} />}
        note="As observed by this page. A partition-set counts as writable in a region while the region's node is connected and reports that it accepts writes."
      >
        <AvailabilityChart minutes={minutes} height={340} />
        <RegionKeys regions={fleet.regions} />
        <details>
          <summary>Show as table</summary>
          <SampleTable samples={availability.samples} regions={fleet.regions} />
        </details>
      </Card>
    </>
  );
}

function worst(samples: readonly Sample[], since: number): number | undefined {
  const shares = samples.filter(({ at }) => at >= since).map(({ nobody, total }) => (total - nobody) / total);
  return shares.length === 0 ? undefined : Math.min(...shares);
}

export function AvailabilityChart({
  minutes,
  height,
}: {
  readonly minutes: number;
  readonly height: number;
}): JSX.Element {
  const { availability, fleet } = useStore().model;
  const last = useSeen((model) => model.availability.last?.at) ?? 0;
  const [point, setPoint] = useState<number | null>(null);
  const regions = fleet.regions.length;
  const recent = useMemo(
    () => availability.samples.filter(({ at }) => at >= last - minutes * 60_000),
    [last, minutes],
  );
  const data = useMemo(() => chartData(recent, regions), [recent, regions]);
  const latest = recent.at(-1);
  if (latest === undefined) return <Empty>Waiting for the nodes …</Empty>;
  const share = percent((latest.total - latest.nobody) / latest.total);
  return (
    <>
      <Chart
        kind={`${regions} ${minutes}`}
        options={() => options(fleet.regions, minutes)}
        data={data}
        height={height}
        label={`Write availability over the last ${minutes} minutes; currently ${share}.`}
        onPoint={setPoint}
      />
      <p class="readout" aria-hidden="true">
        {readout(data, point, fleet.regions)}
      </p>
    </>
  );
}

/** From the top down: what is drawn later covers the lower part of what was drawn before. */
function chartData(samples: readonly Sample[], regions: number): ChartData {
  const { at, upTo } = stacked(samples, regions);
  return [at, ...upTo.toReversed()] as unknown as ChartData;
}

/** What is shown at least, so that the first seconds do not fill the whole width. */
const LEAST_SECONDS = 30;

function options(regions: readonly string[], minutes: number): Omit<uPlot.Options, 'width' | 'height'> {
  const { regions: fills, nobodyStripe } = colours();
  const paths = uPlot.paths.stepped!({ align: 1 });
  const series = regions.map((name, at): uPlot.Series => ({
    label: name,
    fill: fills[at % PALETTE]!,
    width: 0,
    paths,
    points: { show: false },
    spanGaps: false,
  }));
  return {
    padding: [8, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: {
        time: true,
        range: (_, min, max) => [Math.min(max - LEAST_SECONDS, Math.max(min, max - minutes * 60)), max],
      },
      y: { range: [0, 1] },
    },
    axes: [
      { ...bottomAxis(undefined, (value) => clock(value * 1000)), space: 80 },
      { ...axis(undefined, (value) => `${Math.round(value * 100)} %`), size: 54, incrs: [0.25, 0.5, 1] },
    ],
    series: [
      {},
      { label: 'not writable', fill: nobodyStripe, width: 0, paths, points: { show: false } },
      ...series.toReversed(),
    ],
  };
}

function readout(data: ChartData, index: number | null, regions: readonly string[]): string {
  const moment = index === null ? undefined : data[0][index];
  if (index === null || moment === undefined) return '';
  const upTo = regions.map((_, at) => data[regions.length + 1 - at]?.[index] ?? 0);
  const parts = regions.map((name, at) => `${name} ${percent(upTo[at]! - (at === 0 ? 0 : upTo[at - 1]!))}`);
  return `${clock(moment * 1000)}  ${parts.join(', ')}, not writable ${percent(1 - (upTo.at(-1) ?? 0))}`;
}

export function RegionKeys({ regions }: { readonly regions: readonly string[] }): JSX.Element {
  return (
    <ul class="legend">
      {regions.map((name, at) => (
        <li key={name}>
          <i class={`swatch ${regionClass(at)}`} aria-hidden="true" />
          {name}
        </li>
      ))}
      <li>
        <i class="swatch nobody" aria-hidden="true" />
        not writable
      </li>
    </ul>
  );
}

const ROWS = 30;

function SampleTable({
  samples,
  regions,
}: {
  readonly samples: readonly Sample[];
  readonly regions: readonly string[];
}) {
  const changes = samples.filter((sample, at) => at === 0 || !isSame(sample, samples[at - 1]!)).slice(-ROWS);
  return (
    <Scroll label="Availability table">
      <table>
        <thead>
          <tr>
            <th scope="col">since</th>
            {regions.map((name) => (
              <th scope="col" class="number" key={name}>
                {name}
              </th>
            ))}
            <th scope="col" class="number">
              not writable
            </th>
          </tr>
        </thead>
        <tbody>
          {changes.toReversed().map((sample) => (
            <tr key={sample.at}>
              <td>{clock(sample.at)}</td>
              {regions.map((name, at) => (
                <td class="number" key={name}>
                  {count(sample.writable[at] ?? 0)}
                </td>
              ))}
              <td class="number">{count(sample.nobody)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function isSame(a: Sample, b: Sample): boolean {
  return a.nobody === b.nobody && a.writable.every((value, at) => value === b.writable[at]);
}
