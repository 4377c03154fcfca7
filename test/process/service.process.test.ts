/** `baton acceptor` as an operator meets it: starting, refusing to start, stopping, dying, and who may use it. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Acceptor, openAcceptor, openCluster, QUERY, type RegisterRequest } from 'baton/caspaxos';
import { seededChoose } from 'baton/check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import type { Family } from './spawning-parent.ts';
import { AcceptorProcess, batonAcceptor } from './support/acceptor-process.ts';
import { ballotOf } from './support/ledger.ts';
import { Load } from './support/load.ts';
import { BATON, compiled, Nursery } from './support/nursery.ts';
import { callWithLongAnswer, rawConnection, rawStream } from './support/raw-stream.ts';

const TOKEN = 'a-token-that-must-not-be-printed';

let nursery: Nursery;
let started = 0;
const open: (Acceptor | Socket)[] = [];

beforeAll(() => {
  nursery = new Nursery();
});

afterEach(async () => {
  for (const each of open.splice(0)) {
    if ('destroy' in each) each.destroy();
    else await each.close();
  }
});

afterAll(async () => {
  await nursery.close();
});

function start(options: readonly string[] = [], env: Record<string, string> = {}): Promise<AcceptorProcess> {
  started += 1;
  return AcceptorProcess.start(nursery, `service-${started}`, batonAcceptor(options, env));
}

function client(url: string, token?: string): Acceptor {
  const acceptor = openAcceptor(url, { timeoutMs: 60_000, token });
  open.push(acceptor);
  return acceptor;
}

function accept(key: string, counter: number, value: string): RegisterRequest {
  return { key, set: 0, message: { type: '2a', ballot: ballotOf(counter), value } };
}

/** Starts a process that is expected to give up, and returns what it says. */
async function failToStart(
  data: string,
  listen = '127.0.0.1:0',
): Promise<{ code: number | null; said: string }> {
  const child = nursery.spawn(BATON, ['acceptor', '--data', data, '--listen', listen]);
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close'), text(child.stdout)]);
  return { code: code as number | null, said };
}

/** One line, with the code of the error at its end. */
function oneLineWith(code: string): RegExp {
  return new RegExp(`^baton: [^\\n]+ \\[${code}\\]\\n$`);
}

describe('stopping', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    '%s under load: answers, exits with 0, and nothing is lost',
    async (signal) => {
      const acceptor = await start();
      const load = new Load(seededChoose(1));
      load.connect(acceptor.url);
      load.start();
      await until('there are answers', () => load.ledger.messages > 500);
      acceptor.signal(signal);
      expect(await acceptor.exited()).toEqual({ code: 0, signal: null });
      expect(acceptor.output.at(-1)).toContain('"stopped"');
      await load.settled();
      await acceptor.restart();
      await load.verify();
      expect(load.ledger.broken).toEqual([]);
      await load.close();
      await acceptor.terminate();
    },
  );

  it('waits neither for a client that keeps its half open nor for one that is silent', async () => {
    const acceptor = await start();
    open.push(await rawStream(acceptor.url), await rawConnection(acceptor.url));
    expect(await acceptor.terminate()).toEqual({ code: 0, signal: null });
  });

  it('says in /health that it is stopping while it waits for a client that does not read', async () => {
    const acceptor = await start();
    const deaf = await rawStream(acceptor.url);
    const asking = await rawConnection(acceptor.url);
    open.push(deaf, asking);
    for (let id = 1; id <= 30; id += 1) deaf.write(callWithLongAnswer(id, 1_000_000));
    asking.write('GET /health HTTP/1.1\r\nHost: test\r\n');
    // Its answers fill every buffer on the way, so that the stop has to wait.
    await until('the stream is full', () => deaf.writableLength > 0 || deaf.bytesWritten >= 30_000_000);
    await client(acceptor.url).describe();
    const exited = acceptor.terminate();
    await until('it says that it is stopping', () =>
      acceptor.output.some((line) => line.includes('stopping')),
    );
    asking.write('\r\n');
    const [answer] = (await once(asking, 'data')) as [Buffer];
    expect(String(answer)).toMatch(/^HTTP\/1.1 503 [^]*"status":"stopping"/);
    expect(await exited).toEqual({ code: 0, signal: null });
  });
});

describe('one directory, one process', () => {
  it('refuses a second process and leaves the first alone', async () => {
    const acceptor = await start();
    const { code, said } = await failToStart(acceptor.data);
    expect(said).toMatch(oneLineWith('DATA_LOCKED'));
    expect(said).toContain(String(acceptor.pid));
    expect(code).toBe(1);
    await expect(client(acceptor.url).handle([accept('a', 2, 'value')], 0)).resolves.toMatchObject([
      { type: '2b' },
    ]);
    await acceptor.kill();
  });

  it('lets the next one in after kill -9', async () => {
    const acceptor = await start();
    await acceptor.kill();
    await acceptor.restart();
    await acceptor.terminate();
  });

  it('lets the next one in after kill -9 by a parent that does not reap its dead', async () => {
    const parent = nursery.spawn(compiled('spawning-parent.js'), []);
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const family = JSON.parse(String(line)) as Family;
    parent.kill('SIGSTOP');
    process.kill(family.acceptor, 'SIGKILL');
    const next = nursery.spawn(compiled('small-journal-acceptor.js'), [
      family.data,
      '0',
      String(16 * 1024 * 1024),
    ]);
    const said = text(next.stderr);
    const [ready] = (await Promise.race([once(next.stdout, 'data'), said.then((why) => [why])])) as [
      Buffer | string,
    ];
    expect(String(ready)).toContain('acceptor is ready');
    for (const child of [next, parent]) {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
  });
});

describe('refusing to start', () => {
  it('on a port that is taken, without holding the directory', async () => {
    const acceptor = await start();
    const data = `${nursery.directory}/other`;
    const { code, said } = await failToStart(data, new URL(acceptor.url).host);
    expect(said).toMatch(oneLineWith('LISTEN_FAILED'));
    expect(code).toBe(1);
    await acceptor.kill();
    const second = new AcceptorProcess(nursery, 'other');
    await second.restart();
    await second.terminate();
  });

  it('beyond loopback without a certificate and a token', async () => {
    const { code, said } = await failToStart(`${nursery.directory}/open`, '0.0.0.0:0');
    expect(said).toMatch(oneLineWith('LISTEN_REFUSED'));
    expect(code).toBe(1);
  });
});

describe('who may use it', () => {
  it('only those with the token, which is never printed', async () => {
    const acceptor = await start([], { BATON_ACCEPTOR_TOKEN: TOKEN });
    for (const token of [undefined, 'wrong', `${TOKEN}x`]) {
      await expect(client(acceptor.url, token).describe()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
      const options = { acceptors: [acceptor.url], ...(token !== undefined && { token }) };
      await expect(openCluster(options)).rejects.toThrow(/refused the token/);
    }
    await expect(client(acceptor.url, TOKEN).describe()).resolves.toMatchObject({ hasRegisters: false });
    const { host } = new URL(acceptor.url);
    await expect(client(`http://baton:${TOKEN}@${host}`).describe()).resolves.toBeDefined();
    await acceptor.terminate();
    expect(acceptor.output.join('\n')).not.toContain(TOKEN);
  });

  it('shows health to everybody and metrics to those with the token', async () => {
    const acceptor = await start([], { BATON_ACCEPTOR_TOKEN: TOKEN });
    await client(acceptor.url, TOKEN).handle([accept('a', 2, 'value')], 0);
    const health = await fetch(`${acceptor.url}/health`);
    expect([health.status, await health.json()]).toMatchObject([200, { status: 'ok', sequence: 1 }]);

    expect((await fetch(`${acceptor.url}/metrics`)).status).toBe(401);
    const metrics = await fetch(`${acceptor.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    const lines = (await metrics.text()).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'baton_acceptor_requests_total 1',
        'baton_acceptor_syncs_total 1',
        'baton_acceptor_sequence 1',
        'baton_acceptor_streams 1',
      ]),
    );
    await acceptor.terminate();
  });

  it('refuses a request over the limit without harming others', async () => {
    const acceptor = await start(['--max-request-bytes', '100000']);
    const [greedy, modest] = [client(acceptor.url), client(acceptor.url)];
    await greedy.handle([accept('before', 2, 'value')], 0);
    const others = Array.from({ length: 20 }, (_, at) =>
      modest.handle([accept(`other ${at}`, 2, 'value')], 0),
    );
    const huge = accept('huge', 2, 'x'.repeat(2_000_000));
    await expect(greedy.handle([huge], 0)).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE' });
    for (const replies of await Promise.all(others)) expect(replies).toMatchObject([{ type: '2b' }]);
    // It can go on with smaller ones, and nothing of the large one was kept.
    const replies = await greedy.handle(
      [{ key: 'huge', set: 0, message: QUERY }, accept('small', 2, 'value')],
      0,
    );
    expect(replies).toMatchObject([{ type: 'state', accepted: { counter: 0 } }, { type: '2b' }]);
    await acceptor.terminate();
  });
});

describe('the tests themselves', () => {
  it('leave nothing behind when they are killed', async () => {
    const parent = nursery.spawn(compiled('spawning-parent.js'), []);
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const family = JSON.parse(String(line)) as Family;
    expect((await fetch(`${family.url}/health`)).status).toBe(200);
    parent.kill('SIGKILL');
    await until('the grandchild is gone', () => !existsSync(`/proc/${family.acceptor}`));
    await until('its data is gone', () => !existsSync(family.data));
  });
});
