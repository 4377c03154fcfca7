/**
 * A process that starts an acceptor of its own, the way the tests do, and says where to find it. Stopped, it does not
 * reap its dead; killed, it cleans up nothing.
 */
import { AcceptorProcess } from './support/acceptor-process.ts';
import { Nursery } from './support/nursery.ts';
import { endWithParent } from './support/parent.ts';

export interface Family {
  readonly acceptor: number;
  readonly url: string;
  readonly data: string;
}

endWithParent();
const nursery = new Nursery();
const acceptor = await AcceptorProcess.start(nursery, 'grandchild');
const family: Family = { acceptor: acceptor.pid, url: acceptor.url, data: acceptor.data };
process.stdout.write(`${JSON.stringify(family)}\n`);
