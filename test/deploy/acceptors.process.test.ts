import { spawn } from 'node:child_process';
import { openCluster } from 'baton/caspaxos';
import { expect, onTestFinished, test } from 'vitest';
import { TestService } from '../caspaxos/services.ts';
import { ROOT } from '../repository/tree.ts';
import { documented } from './files.ts';

const TOKEN = 'secret';

/** The program of docs/operations.md, as its text says: read from standard input, in the directory of the package. */
function program(): string {
  const [, part] = documented('operations.md').split(/<!-- program:(?:begin|end) -->/);
  return /```js\n(.*?)```/s.exec(part!)![1]!;
}

async function run(...args: string[]): Promise<{ code: number | null; urls: Set<string> }> {
  const child = spawn(process.execPath, ['--input-type=module', '-', ...args], {
    cwd: ROOT,
    env: { ...process.env, BATON_ACCEPTOR_TOKEN: TOKEN },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stdin.end(program());
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  const lines = Buffer.concat(chunks).toString().trim().split('\n');
  return { code, urls: new Set(lines.map((line) => line.split(' ')[0]!)) };
}

test('the documented program replaces an acceptor that is gone, and shows the set', async () => {
  const services = await TestService.startThree({ token: TOKEN });
  const [first, second, third] = services.map(({ url }) => url) as [string, string, string];
  const cluster = await openCluster({ acceptors: [first, second, third], token: TOKEN });
  onTestFinished(() => cluster.close());
  await cluster.change('k', () => 'before');

  expect(await run(`${first},${second}`)).toEqual({ code: 0, urls: new Set([first, second, third]) });

  await services[2]!.stop();
  const fourth = await TestService.start({ token: TOKEN });
  const replaced = await run(`${first},${second}`, third, fourth.url);
  expect(replaced).toEqual({ code: 0, urls: new Set([first, second, fourth.url]) });

  await services[0]!.stop();
  expect(await cluster.read('k')).toMatchObject({ value: 'before' });
});
