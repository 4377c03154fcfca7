import { expect, test } from 'vitest';
import { asTyped, type Invocation, programName } from './invocation.ts';

const started = (script: string, env: Record<string, string> = {}): Invocation => ({
  script,
  env: { PATH: '/usr/local/bin:/usr/bin', ...env },
  cwd: '/clone',
});

test.each([
  ['a global installation', started('/usr/local/bin/baton'), 'baton'],
  [
    'an npm script that runs a global installation',
    started('/usr/local/bin/baton', { npm_command: 'run' }),
    'baton',
  ],
  ['npx in a project that depends on it', started('/app/node_modules/.bin/baton'), 'npx baton'],
  ['npx in a clone', started('/cache/_npx/1f/node_modules/.bin/baton', { npm_command: 'exec' }), 'npx baton'],
  ['npm start in a clone', started('/clone/dist/cli/main.js', { npm_command: 'start' }), 'npx baton'],
  ['the file in a clone', started('/clone/dist/cli/main.js'), 'node dist/cli/main.js'],
  ['the file from elsewhere', started('/other/dist/cli/main.js'), 'node /other/dist/cli/main.js'],
  ['a folder with a space', started('/my clone/main.js'), "node '/my clone/main.js'"],
  ['a link that is not on the PATH', started('/opt/baton/bin/baton'), '/opt/baton/bin/baton'],
])('started through %s, commands are typed so', (_, invocation, expected) => {
  expect(programName(invocation)).toBe(expected);
});

test('commands in a text are shown as they can be typed, and nothing else is touched', () => {
  const npx = started('/app/node_modules/.bin/baton');
  const text =
    'Start it with `baton up` (baton chaos heal west); the baton command; ./baton-data\n  baton list\n';
  expect(asTyped(text, npx)).toBe(
    'Start it with `npx baton up` (npx baton chaos heal west); the baton command; ./baton-data\n  npx baton list\n',
  );
});
