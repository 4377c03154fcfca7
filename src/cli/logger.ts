/**
 * The log of a process that serves: lines of JSON on its standard output. A log that cannot be written, because its disk is full for instance,
 * ends nobody: lines wait, the oldest go first when it has room again, and what did not fit is counted.
 */
import { destination, type Logger, type LoggerOptions, pino } from 'pino';

/** Of lines that wait for room. */
const MOST_BYTES = 1024 * 1024;

export function openLog(options: LoggerOptions, fd = 1): Logger {
  const out = destination({ dest: fd, sync: true, maxLength: MOST_BYTES });
  const log = pino(options, out);
  let lost = 0;
  // Each further line tries again.
  out.on('error', () => {});
  out.on('drop', () => {
    lost += 1;
  });
  out.on('write', () => {
    if (lost === 0) return;
    const lines = lost;
    lost = 0;
    queueMicrotask(() => log.warn({ lines }, 'lines of this log were lost: it could not be written'));
  });
  return log;
}
