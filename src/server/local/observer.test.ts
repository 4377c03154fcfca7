/** Who writes, as several nodes tell it. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { movesBetween, type Observed, Observer } from './observer.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections();
});

interface View {
  readonly partitionSet: string;
  readonly gcn: number;
  readonly writeRegion?: string | null;
  readonly local: { readonly region: string; readonly canWrite: boolean };
  readonly cause?: string;
  readonly pin?: string | null;
}

async function node(
  answer: readonly View[] | string,
  token?: string,
): Promise<{ http: { host: string; port: number } }> {
  const text = typeof answer === 'string' ? answer : JSON.stringify({ partitionSets: answer });
  const server = createServer(({ headers }, response) => {
    const isKnown = token === undefined || headers.authorization === `Bearer ${token}`;
    response.writeHead(isKnown ? 200 : 401).end(text);
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1').unref(), 'listening');
  return { http: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } };
}

const view = (region: string, gcn: number, writeRegion: string, canWrite = false): View => ({
  partitionSet: 'p',
  gcn,
  writeRegion,
  local: { region, canWrite },
});

describe('observing', () => {
  test('the highest GCN decides who writes, and that region itself whether it does', async () => {
    const nodes = [await node([view('west', 4, 'west', true)]), await node([view('east', 6, 'east')])];
    expect((await new Observer({ nodes }).observe()).get('p')).toEqual({
      partitionSet: 'p',
      gcn: 6,
      writeRegion: 'east',
      canWrite: false,
    });
    nodes.push(await node([view('east', 6, 'east', true)]));
    expect((await new Observer({ nodes }).observe()).get('p')?.canWrite).toBe(true);
  });

  test.each([
    [{ cause: 'creation' }, undefined],
    [{ cause: 'silence' }, 'silence'],
    [{ cause: 'forced', pin: 'west' }, 'forced'],
    [{ cause: 'switch', pin: 'west' }, 'operator'],
    [{ cause: 'switch', pin: null }, 'planned'],
  ])('why a region has the writes: %o', async (fields, cause) => {
    const nodes = [await node([{ ...view('west', 2, 'west', true), ...fields }])];
    expect((await new Observer({ nodes }).observe()).get('p')?.cause).toBe(cause);
  });

  test('shows its token to nodes that want one', async () => {
    const nodes = [await node([view('west', 1, 'west', true)], 'secret')];
    expect((await new Observer({ nodes }).observe()).size).toBe(0);
    expect((await new Observer({ nodes, token: 'secret' }).observe()).size).toBe(1);
  });

  test('nodes that are gone or talk nonsense are left out', async () => {
    const gone = await node('');
    servers[0]!.close();
    const nodes = [gone, await node('nonsense'), await node('{"partitionSets":[{}]}')];
    expect((await new Observer({ nodes }).observe()).size).toBe(0);
    nodes.push(await node([view('west', 1, 'west', true)]));
    expect((await new Observer({ nodes }).observe()).size).toBe(1);
  });
});

test('what changed hands is told together where the hands are the same', () => {
  const state = (writers: Record<string, string | undefined>): Map<string, Observed> =>
    new Map(
      Object.entries(writers).map(([partitionSet, writeRegion]) => [
        partitionSet,
        { partitionSet, gcn: 1, writeRegion, canWrite: true },
      ]),
    );
  const before = state({ a: 'west', b: 'west', c: 'east', d: 'west' });
  const after = state({ a: 'east', b: 'east', c: 'east', d: undefined, e: 'west' });
  expect(movesBetween(before, after)).toEqual([
    { from: 'west', to: 'east', partitionSets: ['a', 'b'] },
    { from: undefined, to: 'west', partitionSets: ['e'] },
  ]);
});
