/** Which version of Baton this is, and whether this Node can run it. */
import { readFileSync } from 'node:fs';

interface Manifest {
  readonly version: string;
  readonly engines: { readonly node: string };
}

function manifest(): Manifest {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest;
}

export function version(): string {
  return manifest().version;
}

class NodeVersionError extends Error {
  override readonly name = 'NodeVersionError';
  readonly code = 'NODE_TOO_OLD';
}

/** For an installed `baton`: npm installs it on any Node, with no more than a warning. A clone is checked by its scripts. */
export function demandNode(running: string = process.versions.node): void {
  const oldest = manifest().engines.node.replace('>=', '');
  if (!isOlder(running, oldest)) return;
  throw new NodeVersionError(
    `Baton needs Node ${oldest} or newer; this is Node ${running}. Install a newer one from https://nodejs.org.`,
  );
}

function isOlder(running: string, than: string): boolean {
  const [parts, wanted] = [running, than].map((text) => text.split('.').map(Number));
  const at = wanted!.findIndex((number, index) => (parts![index] ?? 0) !== number);
  return at !== -1 && (parts![at] ?? 0) < wanted![at]!;
}
