/** What both processes of `npm run bench:rpc` need. */
import type { Identity } from 'baton/transport';

export function identity(node: string): Identity {
  return { role: 'node', cluster: 'bench', node, region: 'here', incarnation: 1 };
}

/** That this process has used, in microseconds. */
export function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
