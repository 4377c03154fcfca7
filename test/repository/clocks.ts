/** No test asserts how fast this machine is: an upper bound on time that really passed is met on a quiet one only. */
import { filesUnder, isTest, type Tree, textOf } from './tree.ts';

const NOW = String.raw`(?:performance|Date|NODE_HOST)\.now\(\)`;
/** `const took = performance.now() - startedAt`. */
const MEASURED = new RegExp(String.raw`\b(\w+)\s*=\s*[^;]*?${NOW}\s*-\s*\w`, 'g');
const BOUND =
  /\bexpect\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)\s*\.(?:not\s*\.toBeGreaterThan|toBeLessThan)(?:OrEqual)?\(/g;
/** What only grows with the time that passes; of `limit - Date.now()` an upper bound is a lower one on time. */
const GROWS = new RegExp(String.raw`${NOW}\s*-|Math\.abs\([^;]*${NOW}`);

export function boundsOnTime(tree: Tree): string[] {
  const paths = filesUnder(tree, ['src', 'test'], ['.ts']).filter((path) => isTest(path));
  return paths.flatMap((path) => {
    const text = textOf(tree, path);
    const measured = new Set([...text.matchAll(MEASURED)].map(([, name]) => name));
    return [...text.matchAll(BOUND)]
      .filter(([, asserted]) => GROWS.test(asserted!) || measured.has(asserted!.trim()))
      .map(
        ({ index }) => `${path}:${text.slice(0, index).split('\n').length} bounds the time that a test takes`,
      );
  });
}
