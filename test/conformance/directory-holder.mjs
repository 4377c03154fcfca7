/**
 * A process that opens a data directory and keeps it: `node directory-holder.mjs PATH acceptor|node`. Prints the acceptor's id, or that the
 * node's store is open.
 */
import { DiskAcceptor } from 'baton/caspaxos';
import { NodeStore } from 'baton/engine';

const [, , directory, kind = 'acceptor'] = process.argv;
const journalBytes = 64 * 1024;
if (kind === 'node') {
  await NodeStore.open({ directory, journalBytes });
  process.stdout.write('open\n');
} else {
  const { id } = await DiskAcceptor.open({ directory, journalBytes });
  process.stdout.write(`${id}\n`);
}
setInterval(() => undefined, 60_000);
