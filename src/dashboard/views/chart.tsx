/** A uPlot chart as a component: made once, given new data with every update, made anew when the theme changes. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { colours, useTheme } from './colours.ts';

export type ChartData = uPlot.AlignedData;

export interface ChartProps {
  /** Everything but the size. Called again when `kind` changes. */
  readonly options: () => Omit<uPlot.Options, 'width' | 'height'>;
  readonly data: ChartData;
  readonly height: number;
  /** What it shows, in a sentence with the main numbers. */
  readonly label: string;
  /** Changes when the options do. */
  readonly kind: string;
  /** The place under the pointer, or null. */
  readonly onPoint?: (index: number | null) => void;
}

export function Chart({ options, data, height, label, kind, onPoint }: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const theme = useTheme();
  const point = useRef(onPoint);
  point.current = onPoint;

  useEffect(() => {
    const element = place.current!;
    const settings = options();
    const made = new uPlot(
      {
        ...settings,
        legend: { show: false },
        width: Math.max(200, element.clientWidth),
        height,
        hooks: {
          ...settings.hooks,
          setCursor: [(chart) => point.current?.(chart.cursor.idx ?? null)],
        },
      },
      data,
      element,
    );
    plot.current = made;
    const sizes = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== made.width)
        made.setSize({ width: element.clientWidth, height });
    });
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [theme, kind, height]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [data]);

  return <div class="chart" ref={place} role="img" aria-label={label} />;
}

const FONT = '12px system-ui, sans-serif';

/** An axis in the page's colours. */
export function axis(label: string | undefined, values?: (value: number) => string): uPlot.Axis {
  const { muted, line } = colours();
  return {
    stroke: muted,
    font: FONT,
    labelFont: FONT,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
    ...(label !== undefined && { label, labelSize: 22, labelGap: 2 }),
    ...(values !== undefined && {
      values: (_: uPlot, splits: number[]) => splits.map((value) => values(value)),
    }),
  };
}

/** The one at the bottom, no higher than its numbers and its label need. */
export function bottomAxis(label: string | undefined, values?: (value: number) => string): uPlot.Axis {
  return { ...axis(label, values), size: 30 };
}
