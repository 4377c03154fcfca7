import { expect, test } from 'vitest';
import { ConfigError, parseClusterFile, resolveSecrets } from './index.ts';

const parse = (tokens: string) =>
  parseClusterFile(
    `cluster: demo
regions: [{ name: west, nodes: [{ name: w, listen: 127.0.0.1:4101 }] }]
acceptors: [{ name: a1, url: "http://127.0.0.1:4001" }]
tokens: ${tokens}
`,
    { path: '/etc/baton.yaml' },
  );

const FILES: Readonly<Record<string, string>> = {
  '/etc/good': 'from-a-file\n',
  '/etc/empty': '\n',
  '/etc/bad': 'two words',
};
const places = {
  readFile: (path: string) => {
    const text = FILES[path];
    if (text === undefined) throw new Error(`no ${path}`);
    return text;
  },
  env: { TOKEN: 'from-a-variable' },
};

test('tokens come from the file itself, from other files and from variables', () => {
  const tokens = resolveSecrets(
    parse('{ node: inline, client: { file: good }, operator: { env: TOKEN } }'),
    places,
  );
  expect([tokens.node, tokens.client, tokens.operator].map((token) => token?.reveal())).toEqual([
    'inline',
    'from-a-file',
    'from-a-variable',
  ]);
  expect([tokens.acceptor, JSON.stringify(tokens), tokens.node!.toString()]).toEqual([
    undefined,
    '{"node":"[redacted]","client":"[redacted]","operator":"[redacted]"}',
    '[redacted]',
  ]);
});

test('those that are not there are all named, with the line that names them', () => {
  const config = parse(
    '{ node: { file: absent }, client: { env: ABSENT }, operator: { file: empty }, acceptor: { file: bad } }',
  );
  let message = '';
  try {
    resolveSecrets(config, places);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    message = (error as ConfigError).message;
    expect((error as ConfigError).code).toBe('CONFIG_SECRET');
  }
  expect(message.split('\n')).toEqual([
    '/etc/baton.yaml:4:17 tokens.node: The file /etc/absent cannot be read.',
    '/etc/baton.yaml:4:43 tokens.client: The environment variable ABSENT is not set.',
    '/etc/baton.yaml:4:70 tokens.operator: The token is empty.',
    '/etc/baton.yaml:4:97 tokens.acceptor: The token has a character that cannot be sent; use printable ASCII without spaces.',
  ]);
});

test('a variable that every object has is not a variable', () => {
  expect(() => resolveSecrets(parse('{ node: { env: constructor } }'), places)).toThrow(
    /constructor is not set/,
  );
});

test('a token that was taken out of a file does not count as one', () => {
  expect(() => parse('{ node: "[redacted]" }')).toThrow(/was taken out of this file/);
});
