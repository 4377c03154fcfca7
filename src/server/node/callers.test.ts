import { describe, expect, test } from 'vitest';
import type { Caller } from '../../transport/index.ts';
import { complaintAbout, type DoorOptions } from './callers.ts';

const NODE: Caller = {
  role: 'node',
  cluster: 'demo',
  node: 'east-1',
  region: 'east',
  incarnation: 1,
  link: 'peer',
  epoch: 1,
  certificate: undefined,
};
const CLIENT: Caller = { ...NODE, role: 'client', node: 'c', region: 'c' };
const OPEN: DoorOptions = {
  tokens: () => ({}),
  isMutual: false,
  peers: new Map([['east', { node: 'east-1' }]]),
};

describe('who is let in', () => {
  test('a peer that the file names, and any client, as long as nothing is asked of them', () => {
    expect(complaintAbout(NODE, '', OPEN)).toBeUndefined();
    expect(complaintAbout(CLIENT, '', OPEN)).toBeUndefined();
    expect(complaintAbout({ ...NODE, node: 'east-2' }, '', OPEN)).toContain('no peer');
    expect(complaintAbout({ ...NODE, region: 'west' }, '', OPEN)).toContain('no peer');
  });

  test.each([
    [NODE, 'n', true],
    [NODE, 'c', false],
    [NODE, '', false],
    [CLIENT, 'c', true],
    [CLIENT, 'n', false],
    [CLIENT, '', false],
  ])('%j with the token "%s": %s', (caller, token, isIn) => {
    const door = { ...OPEN, tokens: () => ({ node: 'n', client: 'c' }) };
    expect(complaintAbout(caller, token, door) === undefined).toBe(isIn);
  });

  test('with mutual TLS a node shows the certificate of its name', () => {
    const door = { ...OPEN, isMutual: true };
    expect(complaintAbout({ ...NODE, certificate: 'east-1' }, '', door)).toBeUndefined();
    expect(complaintAbout({ ...NODE, certificate: 'client' }, '', door)).toContain('certificate');
    expect(complaintAbout(NODE, '', door)).toContain('certificate');
    expect(complaintAbout({ ...CLIENT, certificate: 'whoever' }, '', door)).toBeUndefined();
  });
});
