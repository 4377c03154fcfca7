/** The README's first program, run as it stands there. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { run } from './run-cli.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('counts visits across runs', async () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const program = /```ts\n(?<code>import \{ openCluster \}.*?)```/s.exec(readme)?.groups?.['code'];
  expect(program).toBeDefined();
  const directory = mkdtempSync(join(tmpdir(), 'baton-readme-'));
  const library = pathToFileURL(join(ROOT, 'dist', 'caspaxos', 'index.js')).href;
  const plain = program!.replace("'baton/caspaxos'", `'${library}'`).replace(/: number \| undefined/g, '');
  writeFileSync(join(directory, 'program.mjs'), plain);
  for (const visit of [1, 2]) {
    const { code, stdout, stderr } = await run(process.execPath, ['program.mjs'], directory);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`visit number ${visit}\n`);
  }
  rmSync(directory, { recursive: true });
});
