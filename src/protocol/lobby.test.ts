import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { Lobby } from './lobby.ts';
import { Refusals, type RefusalsSaid } from './refusals.ts';

class Caller extends EventEmitter {
  readonly remoteAddress: string;
  readonly remotePort: number;
  isDestroyed = false;

  constructor(address: string, port: number) {
    super();
    this.remoteAddress = address;
    this.remotePort = port;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.emit('close');
  }
}

function lobby(places: number): { lobby: Lobby; crowdedOut: string[] } {
  const crowdedOut: string[] = [];
  return { lobby: new Lobby({ places, onCrowdedOut: (address) => crowdedOut.push(address) }), crowdedOut };
}

describe('a lobby', () => {
  test('has room for so many; the one that came first goes when another comes', () => {
    const { lobby: waiting, crowdedOut } = lobby(2);
    const callers = [1, 2, 3].map((port) => new Caller('a', port));
    for (const caller of callers) waiting.enter(caller);
    expect(callers.map(({ isDestroyed }) => isDestroyed)).toEqual([true, false, false]);
    expect([waiting.size, crowdedOut]).toEqual([2, ['a']]);
  });

  test('takes room from the address that has most, so nobody crowds out the others', () => {
    const { lobby: waiting } = lobby(10);
    const quiet = new Caller('quiet', 1);
    waiting.enter(quiet);
    for (let port = 1; port <= 1000; port += 1) waiting.enter(new Caller('loud', port));
    expect([quiet.isDestroyed, waiting.size]).toEqual([false, 10]);
  });

  test('keeps nobody who has left or has gone, by whatever object', () => {
    const { lobby: waiting } = lobby(2);
    const [first, second, third] = [1, 2, 3].map((port) => new Caller('a', port));
    waiting.enter(first!);
    waiting.leave({ remoteAddress: 'a', remotePort: 1 });
    waiting.enter(second!);
    second!.destroy();
    waiting.leave({ remoteAddress: 'b', remotePort: 9 });
    waiting.enter(third!);
    expect([waiting.size, first!.isDestroyed, third!.isDestroyed]).toEqual([1, false, false]);
  });

  test('a port that comes again is the newer connection', () => {
    const { lobby: waiting } = lobby(2);
    const [old, young] = [new Caller('a', 1), new Caller('a', 1)];
    waiting.enter(old);
    waiting.enter(young);
    old.destroy();
    expect(waiting.size).toBe(1);
    young.destroy();
    expect(waiting.size).toBe(0);
  });
});

test('refusals are said at once, and then once a minute with their number, each kind for itself', () => {
  const said: RefusalsSaid[] = [];
  let now = 0;
  const refusals = new Refusals({ now: () => now }, (one) => said.push(one));
  for (let number = 0; number < 100; number += 1) {
    refusals.note('token', 'the token is wrong', `address ${number}`);
    now += 1000;
  }
  refusals.note('crowded', 'there are too many', 'b');
  expect(said).toEqual([
    { kind: 'token', reason: 'the token is wrong', from: 'address 0', count: 1 },
    { kind: 'token', reason: 'the token is wrong', from: 'address 60', count: 60 },
    { kind: 'crowded', reason: 'there are too many', from: 'b', count: 1 },
  ]);
});
