/** For scripts that a test starts: a child ends with its parent, also with one that was killed. */
const LOOK_EVERY_MS = 500;

export function endWithParent(): void {
  const parent = process.ppid;
  process.stdin.on('end', () => process.exit());
  process.stdin.on('close', () => process.exit());
  process.stdin.resume();
  setInterval(() => {
    if (process.ppid !== parent) process.exit();
  }, LOOK_EVERY_MS).unref();
}
