/** What a node's log says of its copies. What had been acknowledged and is gone is an error, whatever caused it. */
import type { PartitionEvent } from '../../engine/index.ts';
import type { Logger } from '../../failover/index.ts';

export function logEngineEvent(logger: Logger, partitionSet: string, event: PartitionEvent): void {
  const { error, code, message } = told(event);
  const fields = { partitionSet, ...(code !== undefined && { code }), ...event };
  if (error) logger.error(fields, message);
  else logger.warn(fields, message);
}

function told(event: PartitionEvent): {
  readonly error: boolean;
  readonly code?: string;
  readonly message: string;
} {
  switch (event.event) {
    case 'undone':
      return event.committed
        ? {
            error: true,
            code: 'COMMITTED_UNDONE',
            message: `${event.count} entries were undone here, and some of them had been acknowledged: see baton lost-writes.`,
          }
        : {
            error: false,
            message: `${event.count} entries were undone here that were not known to be committed.`,
          };
    case 'refused':
      return {
        error: true,
        code: 'WRITER_DAMAGED',
        message: `The write region ${event.writer} lacks committed writes that are here (up to LSN ${event.lsn}); this copy does not follow it.`,
      };
    case 'short':
      return {
        error: true,
        code: 'WRITER_DAMAGED',
        message: `This write region lacks committed writes that ${event.by} has (up to LSN ${event.lsn}): its disk has lost them.`,
      };
    case 'recovered':
      return {
        error: false,
        message: `This write region took ${event.count} entries over that its disk did not have when it restarted.`,
      };
    case 'unconfirmed':
      return {
        error: false,
        code: 'RECOVERED_ALONE',
        message: `This write region restarted and goes on with its own disk alone: none of ${event.asked.join(', ')} answered. If the disk is an older one, acknowledged writes are missing.`,
      };
    default:
      return { error: false, message: `The engine says: ${event.event}.` };
  }
}
