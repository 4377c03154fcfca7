/** `baton sim outage --json`: the same charts as those of the live page, as far as the file has what they need. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import type { OutageFigures, OutageFile } from '../state/files.ts';
import type { Percentiles } from '../state/statistics.ts';
import { RegionKeys } from './availability.tsx';
import { axis, bottomAxis, Chart, type ChartData } from './chart.tsx';
import { colours, PALETTE } from './colours.ts';
import { doneOptions, DoneChart, DurationBars } from './duration-charts.tsx';
import { Facts } from './file.tsx';
import { Card, Scroll, Tile } from './parts.tsx';

export function OutageResult({ file }: { readonly file: OutageFile }): JSX.Element {
  const { recovery, figures } = file;
  return (
    <>
      <h2 class="result-title">{file.title}</h2>
      <dl class="tiles">
        <Tile name="Median" value={`${recovery.p50} s`} detail="until writes resume" />
        <Tile name="90th percentile" value={`${recovery.p90} s`} />
        <Tile name="99th percentile" value={`${recovery.p99} s`} />
        <Tile name="Maximum" value={`${recovery.max} s`} />
      </dl>
      {figures !== undefined && <ServingCard figures={figures} />}
      <div class="pair">
        {figures === undefined ? (
          <Card
            title="Cumulative share"
            note="From the percentiles in the file. Solid: writes resumed. Dashed: return of the region detected."
          >
            <PercentileChart first={recovery} second={file.detect} />
          </Card>
        ) : (
          <>
            <Card
              title="Distribution of recovery times"
              note="Bars: writes resumed. Outlined: return of the region detected."
            >
              <DurationBars recovery={figures.recovery} detection={figures.detect} />
            </Card>
            <Card
              title="Cumulative share"
              note="Solid: writes resumed. Dashed: return of the region detected."
            >
              <DoneChart recovery={figures.recovery} detection={figures.detect} />
            </Card>
          </>
        )}
        <Card title="Phases of a recovery" note="Mean duration of each phase.">
          <Parts parts={file.parts} />
        </Card>
      </div>
      <div class="pair">
        <Card title="Durations">
          <Times file={file} />
        </Card>
        <Card title="Parameters">
          <Facts facts={file.facts} />
        </Card>
      </div>
    </>
  );
}

/** Figure 6. */
function ServingCard({ figures }: { readonly figures: OutageFigures }): JSX.Element {
  const { regions, serving, bucketSeconds, partitionSets } = figures;
  const data = useMemo((): ChartData => {
    const at = serving.map((_, bucket) => (bucket * bucketSeconds) / 60);
    const lines = regions.map((_, region) =>
      serving.map((row) => row.slice(0, region + 1).reduce((sum, value) => sum + value, 0) / partitionSets),
    );
    return [at, at.map(() => 1), ...lines.toReversed()];
  }, [figures]);
  const options = (): Omit<uPlot.Options, 'width' | 'height'> => {
    const { regions: fills, nobodyStripe } = colours();
    const area = (fill: string): uPlot.Series => ({ fill, width: 0, points: { show: false } });
    return {
      padding: [8, 8, 0, 0],
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { x: { time: false }, y: { range: [0, 1] } },
      axes: [
        bottomAxis('minutes'),
        { ...axis(undefined, (value) => `${Math.round(value * 100)} %`), size: 54 },
      ],
      series: [{}, area(nobodyStripe), ...regions.map((_, at) => area(fills[at % PALETTE]!)).toReversed()],
    };
  };
  return (
    <Card title="Partition-sets that accept writes, by region">
      <Chart
        kind="serving"
        options={options}
        data={data}
        height={280}
        label="Partition-sets that accept writes, by region, over the simulated time."
      />
      <RegionKeys regions={regions} />
    </Card>
  );
}

function PercentileChart({
  first,
  second,
}: {
  readonly first: Percentiles;
  readonly second: Percentiles;
}): JSX.Element {
  const data = useMemo(() => percentileData(first, second), [first, second]);
  return (
    <Chart
      kind="percentiles"
      options={() => {
        const options = doneOptions();
        const [x, ...lines] = options.series;
        return {
          ...options,
          series: [
            x!,
            ...lines.map(({ paths: _paths, ...line }) => ({
              ...line,
              spanGaps: true,
              points: { show: true, size: 7 },
            })),
          ],
        };
      }}
      data={data}
      height={280}
      label={`Recovery times: median ${first.p50} s, maximum ${first.max} s.`}
    />
  );
}

/** Two lines through few points of their own: they share the moments, with gaps that are spanned. */
function percentileData(first: Percentiles, second: Percentiles): ChartData {
  const points = (of: Percentiles): Map<number, number> =>
    new Map([
      [0, 0],
      [of.p50, 0.5],
      [of.p90, 0.9],
      [of.p99, 0.99],
      [of.max, 1],
    ]);
  const [a, b] = [points(first), points(second)];
  const at = [...new Set([...a.keys(), ...b.keys()])].toSorted((x, y) => x - y);
  return [at, at.map((moment) => a.get(moment) ?? null), at.map((moment) => b.get(moment) ?? null)];
}

function Parts({ parts }: { readonly parts: OutageFile['parts'] }): JSX.Element {
  const most = Math.max(...parts.map(([, mean]) => mean), 0.001);
  return (
    <ul class="parts">
      {parts.map(([name, mean]) => (
        <li key={name}>
          <span>{name}</span>
          <span class="track">
            <i style={{ width: `${(100 * mean) / most}%` }} />
          </span>
          <b>{mean.toFixed(2)} s</b>
        </li>
      ))}
    </ul>
  );
}

function Times({ file }: { readonly file: OutageFile }): JSX.Element {
  const rows: readonly (readonly [string, Percentiles])[] = [
    ['writes stopped to writes resumed', file.recovery],
    ['power restored to first update by the region', file.detect],
    ['power restored to writes back in the region', file.failback],
    ['write gap during failback', file.failbackGap],
  ];
  return (
    <Scroll label="Durations">
      <table>
        <thead>
          <tr>
            <th scope="col">seconds</th>
            {['p50', 'p90', 'p99', 'max'].map((name) => (
              <th scope="col" class="number" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, { p50, p90, p99, max }]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {[p50, p90, p99, max].map((value, at) => (
                <td class="number" key={at}>
                  {value.toFixed(1)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
