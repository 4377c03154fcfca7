/** The documents: those that must be there, links that lead somewhere, commands that exist. */
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { filesUnder, ROOT, type Tree, textOf } from './tree.ts';

const EXPECTED = ['README.md', 'CHANGELOG.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'LICENSE'];

export function missingDocuments(tree: Tree): string[] {
  return EXPECTED.filter((path) => (tree.get(path) ?? '').trim() === '').map((path) => `there is no ${path}`);
}

const FRONT_PAGE_LINES = 150;
const OPENING_LINES = 5;

/** Whoever comes to the README reads five lines to know whether it is for them, and not more than a page or two in all. */
export function complaintsAboutFrontPage(tree: Tree): string[] {
  const lines = textOf(tree, 'README.md').trimEnd().split('\n');
  const opening = lines.slice(0, OPENING_LINES).join('\n');
  const complaints: [boolean, string][] = [
    [lines.length > FRONT_PAGE_LINES, `has ${lines.length} lines, over ${FRONT_PAGE_LINES}`],
    [!/\bBaton is a\b/.test(opening), `does not say in its first ${OPENING_LINES} lines what Baton is`],
    [!/\bis\s+for\b/.test(opening), `does not say in its first ${OPENING_LINES} lines for whom`],
    [!/!\[[^\]]+\]\([^)]+\)/.test(lines.join('\n')), 'has no picture'],
  ];
  return complaints.filter(([isWrong]) => isWrong).map(([, what]) => `README.md ${what}`);
}

function documentsOf(tree: Tree): string[] {
  return [...tree.keys()].filter((path) => path.endsWith('.md'));
}

/** Text in which links are links: without code. */
function prose(text: string): string {
  return text.replace(/^(`{3,}|~{3,})[^]*?^\1/gm, '').replace(/`[^`\n]*`/g, '');
}

export function brokenLinks(tree: Tree): string[] {
  return documentsOf(tree).flatMap((path) => {
    const text = prose(textOf(tree, path));
    const inline = [...text.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)].map(([, target]) => target!);
    const reference = [...text.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)].map(([, target]) => target!);
    return [...inline, ...reference]
      .filter((target) => !/^(?:[a-z][a-z+.-]*:|#)/i.test(target) && !leads(tree, path, target))
      .map((target) => `${path} links to ${target}`);
  });
}

function leads(tree: Tree, from: string, target: string): boolean {
  const path = posix.join(posix.dirname(from), decodeURI(target.replace(/[#?].*$/, ''))).replace(/\/$/, '');
  if (path.startsWith('..')) return false;
  return (
    tree.has(path) ||
    filesUnder(tree, [path], ['']).length > 0 ||
    (path !== '' && existsSync(join(ROOT, path)))
  );
}

/** Commands that a document names and package.json lacks. `npm run bench:...` stands for all of that beginning. */
export function unknownCommands(tree: Tree): string[] {
  const { scripts } = JSON.parse(textOf(tree, 'package.json')) as { scripts: Record<string, string> };
  return documentsOf(tree).flatMap((path) => {
    const named = [...textOf(tree, path).matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)];
    return named
      .map(([, run, short]) => run ?? short!)
      .filter(
        (name) =>
          !Object.keys(scripts).some(
            (known) => known === name || (name.endsWith(':') && known.startsWith(name)),
          ),
      )
      .map((name) => `${path} names npm run ${name}`);
  });
}
