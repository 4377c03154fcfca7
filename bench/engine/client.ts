/** Starts a client process and takes in its report. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Load, Report } from './load.ts';
import type { System } from './system.ts';

const CLIENT = fileURLToPath(new URL('./client-process.js', import.meta.url));

/** The compiled client: this runs from `build/`. The channel is there to be lost: the client ends when we do. */
export async function runClient(system: System, load: Omit<Load, 'warmUpSeconds'>): Promise<Report> {
  const args = ['--system', system.name, '--mode', load.mode, '--in-flight', `${load.inFlight}`].concat([
    '--keys',
    `${load.keys}`,
    '--seconds',
    `${load.seconds}`,
    '--bytes',
    `${load.bytes}`,
    '--warm-up',
    `${Math.min(1, load.seconds / 2)}`,
    '--',
    ...system.clientArgs(),
  ]);
  const child = spawn(process.execPath, [CLIENT, ...args], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  let said = '';
  child.stdout!.on('data', (data: Buffer) => (said += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`The client of ${system.name} ended with ${code}.`);
  return JSON.parse(said) as Report;
}
