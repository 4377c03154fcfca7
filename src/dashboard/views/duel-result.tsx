/** `baton sim duel --json`: how often leases were lost, by policy and number of proposers (the paper's Figure 9). */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import type { DuelFile, DuelRow } from '../state/files.ts';
import { axis, bottomAxis, Chart, type ChartData } from './chart.tsx';
import { colours, PALETTE, regionClass } from './colours.ts';
import { Facts } from './file.tsx';
import { Card, Scroll } from './parts.tsx';

const DASHES = [undefined, [8, 4], [2, 3], [10, 3, 2, 3]] as const;

export function DuelResult({ file }: { readonly file: DuelFile }): JSX.Element {
  const policies = [...new Set(file.rows.map(({ policy }) => policy))];
  const data = useMemo(() => chartData(file.rows, policies), [file]);
  return (
    <>
      <h2 class="result-title">{file.title}</h2>
      <div class="pair">
        <Card
          title="Failed lease renewals"
          note="Share of due renewals that failed, by number of proposers. Logarithmic scale."
        >
          <Chart
            kind={policies.join()}
            options={() => options(policies)}
            data={data}
            height={300}
            label={`Failed lease renewals by number of proposers for ${policies.join(', ')}. The table below has the values.`}
          />
          <ul class="legend">
            {policies.map((name, at) => (
              <li key={name}>
                <i class={`swatch ${regionClass(at)}`} aria-hidden="true" />
                {name}
              </li>
            ))}
          </ul>
        </Card>
        <Card title="Parameters">
          <Facts facts={file.facts} />
        </Card>
      </div>
      <Card title="All rows">
        <Rows rows={file.rows} />
      </Card>
    </>
  );
}

/** Powers of ten, in percent. What is zero has no place on a logarithmic scale: it lies at the bottom. */
const BOTTOM = -4;
const TOP = 2;

function chartData(rows: readonly DuelRow[], policies: readonly string[]): ChartData {
  const proposers = [...new Set(rows.map((row) => row.proposers))].toSorted((a, b) => a - b);
  const lines = policies.map((policy) =>
    proposers.map((number) => {
      const row = rows.find((one) => one.policy === policy && one.proposers === number);
      return row === undefined ? null : Math.max(BOTTOM, Math.log10(row.failureRate * 100));
    }),
  );
  return [proposers, ...lines];
}

function options(policies: readonly string[]): Omit<uPlot.Options, 'width' | 'height'> {
  const { regions } = colours();
  return {
    padding: [10, 12, 0, 0],
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: (_, min, max) => [min - 0.5, max + 0.5] },
      y: { range: [BOTTOM - 0.15, TOP] },
    },
    axes: [
      { ...bottomAxis('proposers'), incrs: [1, 2] },
      { ...axis(undefined, powerInWords), size: 84, incrs: [1] },
    ],
    series: [
      {},
      ...policies.map((label, at): uPlot.Series => {
        const dash = DASHES[at % DASHES.length];
        return {
          label,
          stroke: regions[at % PALETTE]!,
          width: 2.5,
          points: { show: true, size: 8 },
          ...(dash !== undefined && { dash: [...dash] }),
        };
      }),
    ],
  };
}

function powerInWords(power: number): string {
  const value = `${(10 ** power).toFixed(Math.max(0, -power))} %`;
  return power === BOTTOM ? `≤ ${value}` : value;
}

function Rows({ rows }: { readonly rows: readonly DuelRow[] }): JSX.Element {
  const percent = (value: number): string => `${(100 * value).toFixed(4)} %`;
  return (
    <Scroll label="All rows">
      <table>
        <thead>
          <tr>
            <th scope="col">policy</th>
            {[
              'proposers',
              'failed',
              '95 % confidence interval',
              'attempts per update',
              'NAKs per update',
              'commit p50',
              'commit p99',
            ].map((name) => (
              <th scope="col" class="number" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.policy} ${row.proposers}`}>
              <th scope="row">{row.policy}</th>
              <td class="number">{row.proposers}</td>
              <td class="number">{percent(row.failureRate)}</td>
              <td class="number">
                {percent(row.confidence95[0])} – {percent(row.confidence95[1])}
              </td>
              <td class="number">{row.attemptsPerUpdate.toFixed(2)}</td>
              <td class="number">{row.naksPerUpdate.toFixed(2)}</td>
              <td class="number">{row.commitP50.toFixed(0)} ms</td>
              <td class="number">{row.commitP99.toFixed(0)} ms</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
