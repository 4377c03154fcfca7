/** Running other programs from the scripts: one that is watched quietly, one that takes over the terminal. */
import { execFile, spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A failure that the reader can act on: shown as its message alone, without a stack. */
export class ScriptError extends Error {}

/** Where packages come from, for those who say it in the environment. */
const WHERE_FROM = /^npm_config_(?:registry|cache|userconfig|globalconfig|cafile|.*proxy)$/i;

/** The environment without what the npm around us left in it: an npm inside an npm would take it for its own. */
export function cleanEnvironment(additions = {}) {
  const isOurs = ([name]) => !name.toLowerCase().startsWith('npm_') || WHERE_FROM.test(name);
  return { ...Object.fromEntries(Object.entries(process.env).filter(isOurs)), ...additions };
}

/**
 * Runs a program to its end and keeps what it printed. Never rejects: a program that is missing, was killed or ran out
 * of time has a `code` that is not 0 and says so in `output`.
 */
export function runQuietly(command, args, { seconds = 60, cwd = ROOT, env = cleanEnvironment() } = {}) {
  const options = { cwd, env, timeout: seconds * 1000, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      const printed = `${stdout}${stderr}`.trimEnd();
      if (error === null) resolve({ code: 0, output: printed, stdout });
      else if (error.killed)
        resolve({ code: 1, output: `${printed}\n${command}: stopped after ${seconds} s`, stdout });
      else if (typeof error.code === 'number') resolve({ code: error.code, output: printed, stdout });
      else resolve({ code: 1, output: `${printed}\n${error.message}`.trim(), stdout });
    });
    child.stdin?.end();
  });
}

/**
 * Runs a program in our place: it has the terminal, the signals sent to us reach it, and its exit code is the result.
 * On a terminal, Ctrl-C reaches the child by itself, and a second copy could read as "quit without cleaning up".
 */
export function runInstead(command, args, { cwd = ROOT, env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: 'inherit' });
    const forward = (signal) => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, forward);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      for (const name of signals) process.off(name, forward);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

/** Whether this file is the program that was started, not a part of another. */
export function isProgram(moduleUrl) {
  return process.argv[1] !== undefined && fileURLToPath(moduleUrl) === realpathSync(process.argv[1]);
}

/** Runs a script's body. Sets the exit code and lets the process end by itself, so that locks and pipes are finished. */
export async function runScript(body) {
  try {
    process.exitCode = (await body()) ?? 0;
  } catch (error) {
    process.stderr.write(`${error instanceof ScriptError ? error.message : error.stack}\n`);
    process.exitCode = 1;
  }
}
