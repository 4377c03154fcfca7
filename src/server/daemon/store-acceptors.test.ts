/** Nodes and gateways with acceptors that are stores: each opens them with the passwords that the file names. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Daemons } from '../../../test/server/daemons.ts';
import type { ClusterConfig } from '../config/index.ts';
import { GatewayDaemon } from '../gateway/index.ts';
import { NodeDaemon } from './node-daemon.ts';

type Logger = Parameters<typeof NodeDaemon.start>[2]['logger'];

const GATEWAY = `gateways: [{ name: door, listen: "127.0.0.1:1" }]
keys: { primary: "${Buffer.alloc(40, 7).toString('base64')}" }`;

const STARTS: readonly [
  string,
  (config: ClusterConfig, logger: Logger, signal: AbortSignal) => Promise<unknown>,
][] = [
  ['a node', (config, logger, signal) => NodeDaemon.start(config, 'west-1', { logger, signal })],
  [
    'a gateway',
    (config, logger, signal) => {
      const gateways = config.gateways.map((one) => ({ ...one, listen: { host: '127.0.0.1', port: 0 } }));
      return GatewayDaemon.start({ ...config, gateways }, 'door', { logger, signal });
    },
  ],
];

describe.each(STARTS)('%s', (_, start) => {
  const lines: string[] = [];
  const log = (fields: object, sentence: string): void =>
    void lines.push(`${inspect(fields, { depth: 9 })} ${sentence}`);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  let there: Daemons;
  let server: Server;
  let heard = '';
  let giveUp: AbortController;

  beforeEach(async () => {
    heard = '';
    lines.length = 0;
    giveUp = new AbortController();
    server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        heard += bytes.toString();
        socket.destroy();
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });

  afterEach(async () => {
    server.close();
    await there.end();
  });

  async function configWith(password: string): Promise<ClusterConfig> {
    const { port } = server.address() as AddressInfo;
    const acceptors = [
      '{ name: a1, url: "memory:store-acceptors" }',
      `{ name: s1, url: "redis://me@127.0.0.1:${port}", password: ${password} }`,
    ];
    there = await Daemons.of({ acceptors, more: GATEWAY });
    return there.config();
  }

  test('shows a store the user and the password, and nobody else', async () => {
    const config = await configWith('hunter2');
    const onLine = (fields: object, sentence: string): void => {
      log(fields, sentence);
      // It waits for the store, which hangs up on everybody.
      if (/waits? for|waiting for/i.test(sentence)) giveUp.abort(new Error('enough'));
    };
    await expect(start(config, { ...logger, warn: onLine }, giveUp.signal)).rejects.toThrow('enough');
    expect(heard).toMatch(/AUTH\r\n\$2\r\nme\r\n\$7\r\nhunter2\r\n/i);
    expect(lines.join('\n')).toContain('redis://127.0.0.1');
    expect(lines.join('\n')).not.toMatch(/hunter2|me@/);
  });

  test('does not start without a password that the file names', async () => {
    const config = await configWith('{ env: BATON_TEST_NOWHERE }');
    await expect(start(config, logger, giveUp.signal)).rejects.toMatchObject({
      code: 'CONFIG_SECRET',
      message: expect.stringContaining('acceptors[1].password: The environment variable BATON_TEST_NOWHERE'),
    });
    expect(heard).toBe('');
  });
});
