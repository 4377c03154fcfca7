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

const WIDTH = 640;
const HEIGHT = 360;
const LEFT = 72;
const RIGHT = 150;
const TOP = 24;
const BOTTOM = 48;
/** The lowest rate that the scale shows: 0.0001 %. */
const LOWEST = 1e-6;
const COLOURS = ['#c0392b', '#e08e0b', '#1f7a8c', '#5b3f8c', '#3a7d44'];

export function figureNine(points: readonly FigurePoint[]): string {
  const policies = [...new Set(points.map(({ policy }) => policy))];
  const counts = [...new Set(points.map(({ proposers }) => proposers))].sort((a, b) => a - b);
  const x = (proposers: number): number => {
    const share = counts.length === 1 ? 0.5 : counts.indexOf(proposers) / (counts.length - 1);
    return LEFT + share * (WIDTH - LEFT - RIGHT);
  };
  const lines = policies.map((policy, index) => {
    const own = points
      .filter((point) => point.policy === policy)
      .toSorted((a, b) => a.proposers - b.proposers);
    return line(policy, own, index, x);
  });
  const ticks = counts.map((count) => text(x(count), HEIGHT - BOTTOM + 20, `${count}`, 'middle'));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">`,
    '<title>Leases lost by number of proposers and scheduling policy</title>',
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    ...grid(),
    ...ticks,
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, 'proposers', 'middle'),
    ...lines,
    '</svg>',
    '',
  ].join('\n');
}

/** One bar for each point, as long as the logarithm of its rate. */
export function terminalBars(points: readonly FigurePoint[]): string {
  const widest = 40;
  return points
    .map(({ policy, proposers, failureRate }) => {
      const bar = '█'.repeat(Math.round(heightOf(failureRate) * widest));
      return `${`${proposers}`.padStart(4)} ${policy.padEnd(10)} ${bar} ${percent(failureRate)}`;
    })
    .join('\n');
}

function line(
  policy: string,
  points: readonly FigurePoint[],
  index: number,
  x: (proposers: number) => number,
): string {
  const colour = COLOURS[index % COLOURS.length]!;
  const path = points.map((point) => `${x(point.proposers)},${y(point.failureRate)}`).join(' ');
  const dots = points.map((point) => {
    const tip = `${policy}, ${point.proposers} proposers: ${percent(point.failureRate)}`;
    return `<circle cx="${x(point.proposers)}" cy="${y(point.failureRate)}" r="4" fill="${colour}"><title>${tip}</title></circle>`;
  });
  const last = points.at(-1)!;
  const label = text(
    x(last.proposers) + 10,
    y(last.failureRate) + 4 - 14 * Number(last.failureRate === 0) * index,
    `${policy} ${percent(last.failureRate)}`,
    'start',
    colour,
  );
  return [
    `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...dots,
    label,
  ].join('\n');
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
