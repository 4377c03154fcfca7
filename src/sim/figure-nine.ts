/**
 * The paper's Figure 9 as a picture: failure rate over the number of proposers, one line for each policy, as SVG for a
 * page and as bars for a terminal. The scale is logarithmic, because what is compared spans a factor of thousands; a rate
 * of zero stands on the ground line.
 */
export interface FigurePoint {
  readonly policy: string;
  readonly proposers: number;
  /** 0 .. 1 */
  readonly failureRate: number;
}

const WIDTH = 700;
const HEIGHT = 360;
const LEFT = 72;
const RIGHT = 200;
const TOP = 24;
const BOTTOM = 48;
/** The lowest rate that the scale shows: 0.0001 %. */
const LOWEST = 1e-6;
/** Labels at the lines' ends stand at least this far apart. */
const LABEL_GAP = 15;
const COLOURS = ['#c0392b', '#e08e0b', '#1f7a8c', '#5b3f8c', '#3a7d44'];

export function figureNine(points: readonly FigurePoint[]): string {
  const policies = [...new Set(points.map(({ policy }) => policy))];
  const counts = [...new Set(points.map(({ proposers }) => proposers))].sort((a, b) => a - b);
  const x = (proposers: number): number => {
    const share = counts.length === 1 ? 0.5 : counts.indexOf(proposers) / (counts.length - 1);
    return LEFT + share * (WIDTH - LEFT - RIGHT);
  };
  const lines = policies.map((policy) =>
    points.filter((point) => point.policy === policy).toSorted((a, b) => a.proposers - b.proposers),
  );
  const labels = labelHeights(lines.map((own) => y(own.at(-1)!.failureRate)));
  const drawn = lines.map((own, index) => line(own, COLOURS[index % COLOURS.length]!, labels[index]!, x));
  const ticks = counts.map((count) => text(x(count), HEIGHT - BOTTOM + 20, `${count}`, 'middle'));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">`,
    '<title>Leases lost by number of proposers and scheduling policy</title>',
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    ...grid(),
    ...ticks,
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, 'proposers', 'middle'),
    ...drawn,
    '</svg>',
    '',
  ].join('\n');
}

/** One bar for each point, as long as the logarithm of its rate. */
export function terminalBars(points: readonly FigurePoint[]): string {
  const widest = 40;
  const nameWidth = Math.max(10, ...points.map(({ policy }) => policy.length));
  return points
    .map(({ policy, proposers, failureRate }) => {
      const bar = '█'.repeat(Math.round(heightOf(failureRate) * widest));
      return `${`${proposers}`.padStart(4)} ${policy.padEnd(nameWidth)} ${bar} ${percent(failureRate)}`;
    })
    .join('\n');
}

function line(
  points: readonly FigurePoint[],
  colour: string,
  labelAt: number,
  x: (proposers: number) => number,
): string {
  const path = points.map((point) => `${x(point.proposers)},${y(point.failureRate)}`).join(' ');
  const dots = points.map((point) => {
    const tip = `${point.policy}, ${point.proposers} proposers: ${percent(point.failureRate)}`;
    return `<circle cx="${x(point.proposers)}" cy="${y(point.failureRate)}" r="4" fill="${colour}"><title>${tip}</title></circle>`;
  });
  const last = points.at(-1)!;
  const label = `${last.policy} ${percent(last.failureRate)}`;
  return [
    `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...dots,
    text(x(last.proposers) + 10, labelAt + 4, label, 'start', colour),
  ].join('\n');
}

/** Where the labels stand: at their lines' ends, moved up where the one below would be covered. */
function labelHeights(ends: readonly number[]): readonly number[] {
  const heights = [...ends];
  let below = Infinity;
  for (const index of ends.map((_, at) => at).toSorted((a, b) => ends[b]! - ends[a]!)) {
    heights[index] = Math.min(ends[index]!, below - LABEL_GAP);
    below = heights[index];
  }
  return heights;
}

function grid(): string[] {
  const rates = [0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1];
  return rates.flatMap((rate) => [
    `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(rate)}" y2="${y(rate)}" stroke="#d8dde2"/>`,
    text(LEFT - 8, y(rate) + 4, rate === 0 ? '0' : percent(rate), 'end'),
  ]);
}

function y(rate: number): number {
  return Math.round(HEIGHT - BOTTOM - heightOf(rate) * (HEIGHT - TOP - BOTTOM));
}

/** 0 .. 1, on the logarithmic scale from just under LOWEST to everything. */
function heightOf(rate: number): number {
  return rate <= LOWEST ? 0 : 1 - Math.log(rate) / Math.log(LOWEST);
}

function percent(rate: number): string {
  return `${Number((100 * rate).toPrecision(3))} %`;
}

function text(
  x: number,
  yAt: number,
  content: string,
  anchor: 'start' | 'middle' | 'end',
  colour = '#33404d',
): string {
  return `<text x="${x}" y="${yAt}" text-anchor="${anchor}" fill="${colour}">${content}</text>`;
}
