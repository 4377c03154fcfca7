/** The process that answers: it echoes requests, and tells its parent its port and the processor time it has used. */
import { NODE_HOST } from 'baton/caspaxos';
import { Listener } from 'baton/transport';
import { identity, processorTime } from './common.ts';

const listener = await Listener.listen({
  host: NODE_HOST,
  address: { host: '127.0.0.1', port: 0 },
  self: identity('echo'),
  onConnection: () => ({ onRequest: (_, payload) => payload }),
});
process.on('disconnect', () => process.exit());
process.on('message', () => process.send!(processorTime()));
process.send!(listener.address.port);
