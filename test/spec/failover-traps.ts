/**
 * Two places where tla-checker 0.9.0 reads a module otherwise than TLA+ does, without a word:
 *
 * - inside parentheses a list of `/\` or `\/` loses its alignment, and is read as one line by precedence;
 * - `a => b /\ c` is read as `(a => b) /\ c`.
 *
 * Both change what a guard or an invariant says, so a module must not have them.
 */
import { withoutComments } from './tla-syntax.ts';

export function misreadLines(source: string): string[] {
  const code = withoutComments(source).replace(/"[^"]*"/g, '""');
  let depth = 0;
  return code.split('\n').flatMap((line, index) => {
    const listed = depth > 0 && /^\s*(?:\/\\|\\\/)\s/.test(line);
    depth += count(line, '(') - count(line, ')');
    const said = listed ? 'a list inside parentheses' : hasLooseImplication(line) ? 'a => b /\\ c' : '';
    return said === '' ? [] : [`line ${index + 1}, ${said}: ${line.trim()}`];
  });
}

/** Whether a conjunction follows an implication at its own level: nothing in parentheses counts. */
function hasLooseImplication(line: string): boolean {
  let flat = line;
  for (let before = ''; before !== flat;) {
    before = flat;
    flat = flat.replace(/\([^()]*\)/g, '');
  }
  return /=>(?![^=]*==).*\/\\/.test(flat);
}

function count(text: string, mark: string): number {
  return text.split(mark).length - 1;
}
