/** A process that opens an acceptor's data directory and keeps it: `node directory-holder.mjs PATH`. Prints its id. */
import { DiskAcceptor } from 'baton/caspaxos';

const acceptor = await DiskAcceptor.open({ directory: process.argv[2], journalBytes: 64 * 1024 });
process.stdout.write(`${acceptor.id}\n`);
setInterval(() => undefined, 60_000);
