/**
 * Shows that a long step is under way: on a terminal one line that counts the seconds in place, elsewhere a plain line when the step
 * begins and one every quarter of a minute. A step that is over before anybody wonders prints nothing.
 */
const WONDERING_MS = 1500;
const TERMINAL_MS = 1000;
const PLAIN_MS = 15_000;
const CLEAR_LINE = '\r\u001B[K';

/** Runs `action` as the step of that name. `isLong`: worth a line from the beginning. */
export async function showStep(name, action, { isLong = true, stream = process.stderr } = {}) {
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 1000);
  let isShown = false;
  const show = () => {
    const counted = isShown ? `${name}: ${seconds()} s ...` : `${name} ...`;
    isShown = true;
    stream.write(stream.isTTY ? `${CLEAR_LINE}${counted}` : `${counted}\n`);
    timer = setTimeout(show, stream.isTTY ? TERMINAL_MS : PLAIN_MS);
  };
  let timer;
  if (isLong) show();
  else timer = setTimeout(show, WONDERING_MS);
  try {
    return await action();
  } finally {
    clearTimeout(timer);
    if (isShown && stream.isTTY) stream.write(`${CLEAR_LINE}${name}: ${seconds()} s\n`);
  }
}
