/** One clock for all processes of a run: the time of day as it was when the process started, and from there the monotonic one. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
