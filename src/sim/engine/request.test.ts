import { expect, test } from 'vitest';
import { cutting } from '../core/index.ts';
import { World } from '../world.ts';
import { guardedHost } from './guard.ts';
import { ask, type Reply } from './request.ts';

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
