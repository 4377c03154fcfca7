import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  coloured,
  colourless,
  millis,
  paintFor,
  plural,
  readFormat,
  render,
  right,
  table,
} from './output.ts';

const rows = table(
  ['NAME', right('COUNT'), 'STATE'],
  [
    { cells: ['a', '1', 'ok'], tone: 'plain' },
    { cells: ['longer', '1000', 'down'], tone: 'bad' },
  ],
);
const report = { value: { rows: [{ name: 'a', at: '2030-01-01' }], none: null }, table: rows };

describe('a report', () => {
  it('is an aligned table for people: texts to the left, numbers to the right', () => {
    expect(render(report, 'pretty', colourless)).toBe(
      'NAME    COUNT  STATE\na           1  ok\nlonger   1000  down\n',
    );
  });

  it('is JSON, and the same as YAML', () => {
    expect(JSON.parse(render(report, 'json', coloured))).toEqual(report.value);
    expect(parse(render(report, 'yaml', coloured))).toEqual(report.value);
  });

  it('is lines with tabs, whatever is in the cells', () => {
    const odd = table(['A', 'B'], [{ cells: ['x\ty', 'line\nbreak\u001B[31m'] }]);
    expect(render({ value: null, table: odd }, 'tsv', coloured)).toBe('A\tB\nx y\tline break [31m\n');
    expect(render(report, 'tsv', coloured)).toBe('NAME\tCOUNT\tSTATE\na\t1\tok\nlonger\t1000\tdown\n');
  });

  it('has its own text for people if it brings one', () => {
    expect(render({ ...report, pretty: () => 'all well\n' }, 'pretty', colourless)).toBe('all well\n');
  });
});

describe('colours', () => {
  it('paint whole rows, so that the columns stay where they are', () => {
    const text = render(report, 'pretty', coloured);
    expect(text).toContain('\u001B[31mlonger   1000  down\u001B[0m\n');
    expect(text.replaceAll('\u001B[31m', '').replaceAll('\u001B[2m', '').replaceAll('\u001B[0m', '')).toBe(
      render(report, 'pretty', colourless),
    );
  });

  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
  ])('on a terminal (%s) with %j: %s', (isTerminal, env, isColoured) => {
    expect(paintFor(isTerminal, env)).toBe(isColoured ? coloured : colourless);
  });
});

describe('small texts', () => {
  it('know one from many', () => {
    expect([plural(1, 'node'), plural(0, 'node'), plural(1234, 'node')]).toEqual([
      '1 node',
      '0 nodes',
      '1,234 nodes',
    ]);
  });

  it('have durations that people read', () => {
    expect([millis(84.4), millis(3306), millis(125_000)]).toEqual(['84 ms', '3.3 s', '2 min']);
  });

  it('refuse a format that is none', () => {
    expect(() => readFormat('xml')).toThrow('--format must be one of pretty, json, yaml, tsv, not "xml".');
  });
});
