/** What this machine lets a run do. */
import { execFileSync } from 'node:child_process';

export function canMakeNamespaces(): boolean {
  try {
    const inside = ['ip', 'link', 'add', 'va', 'type', 'veth', 'peer', 'name', 'vb'];
    execFileSync('unshare', ['-n', '--', ...inside], { stdio: 'ignore' });
    execFileSync('nsenter', ['--version'], { stdio: 'ignore' });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
}
