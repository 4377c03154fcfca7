import { expect, test } from 'vitest';
import { cutting } from '../core/index.ts';
import { World } from '../world.ts';
import { guardedHost } from './guard.ts';
import { ask, converse, type Heard, type Reply } from './request.ts';

function pair() {
  const world = new World(1);
  world.link = () => [10, 15];
  const [client, server] = ['client', 'server'].map((name) => world.addProcess({ name, main: () => {} }));
  client!.start();
  server!.start();
  return { world, client: client!, server: server! };
}

test('a request is carried out once, though the network doubles it, and is answered once', async () => {
  const { world, client, server } = pair();
  let times = 0;
  let reply: Reply<number> | undefined;
  void ask(world, client, server, 100, async () => (times += 1)).then((answer) => (reply = answer));
  await world.run(200);
  expect({ times, reply }).toEqual({ times: 1, reply: { reply: 'answer', answer: 1 } });
});

test('who is not there refuses; who is cut off does not answer', async () => {
  const { world, client, server } = pair();
  const replies: Reply<number>[] = [];
  const answer = (): void =>
    void ask(world, client, server, 100, async () => 1).then((one) => replies.push(one));
  server.crash();
  answer();
  await world.run(50);
  server.start();
  world.link = cutting(world.link, (from) => from === server.index);
  answer();
  await world.run(300);
  expect(replies).toEqual([{ reply: 'refused' }, { reply: 'none' }]);
});

test('answers are heard as often as the network brings them; only what changes nothing is carried out twice', async () => {
  const { world, client, server } = pair();
  const heard: string[] = [];
  let times = 0;
  const talk = (mayDouble: boolean, name: string): void =>
    converse<number>(world, client, server, {
      mayDouble,
      lookAfterMs: 500,
      carryOut: async () => (times += 1),
      tell: (what) => heard.push(`${name} ${what.reply}`),
    });
  talk(false, 'write');
  await world.run(100);
  expect({ times, heard }).toEqual({ times: 1, heard: ['write answer', 'write answer'] });
  talk(true, 'read');
  await world.run(200);
  expect(times).toBe(3);
  expect(heard.filter((what) => what === 'read answer')).toHaveLength(4);
});

test('a connection is refused by who is down, and breaks when the other side dies with the request', async () => {
  const { world, client, server } = pair();
  world.link = () => [10];
  const heard: Heard<number>[] = [];
  const talk = (): void =>
    converse<number>(world, client, server, {
      mayDouble: false,
      lookAfterMs: 60,
      carryOut: () => new Promise(() => {}),
      tell: (what) => heard.push(what),
    });
  talk();
  world.at(30, -1, () => server.crash());
  await world.run(80);
  expect(heard).toEqual([{ reply: 'lost' }]);
  talk();
  await world.run(200);
  expect(heard).toEqual([{ reply: 'lost' }, { reply: 'refused' }]);
});

test('work that never ends within one event is stopped with an error', async () => {
  const { world, client } = pair();
  const host = guardedHost(client, world);
  host.after(10, () => {
    while (host.now() < 1000) {
      // As one that waits for a time that does not come.
    }
  });
  host.after(5, () => expect(host.now()).toBe(5));
  await expect(world.run(2000)).rejects.toThrow('client never ends what it does at 10 ms');
});
