/**
 * An acceptor service whose journal and cache are so small that under load its journal files take turns and its database
 * is written all the time. Arguments: directory, port, bytes of a journal file.
 */
import { AcceptorServer, DiskAcceptor } from 'baton/caspaxos';
import { endWithParent } from './support/parent.ts';

const [directory = '', port = '0', journalBytes = ''] = process.argv.slice(2);

endWithParent();
const acceptor = await DiskAcceptor.open({
  directory,
  journalBytes: Number(journalBytes),
  cacheBytes: 16 * 1024,
});
const server = await AcceptorServer.listen(acceptor, { host: '127.0.0.1', port: Number(port) });
process.stdout.write(`${JSON.stringify({ msg: 'acceptor is ready', url: server.url })}\n`);
await new Promise((resolve) => {
  process.once('SIGTERM', resolve);
});
await server.close();
await acceptor.close();
process.exit();
