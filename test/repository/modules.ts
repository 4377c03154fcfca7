/** What the checks want to know of a source file, read from its syntax tree: imports, strings, functions, test modes. */
import { posix } from 'node:path';
import { parseSync } from 'vite';
import type { Tree } from './tree.ts';

export interface FunctionLength {
  readonly name: string;
  readonly line: number;
  readonly lines: number;
}

export interface ModuleFacts {
  /** As they are written: './a.ts', 'node:fs', 'baton/check'. Types, re-exports and `import()` included. */
  readonly imports: readonly string[];
  readonly strings: readonly string[];
  readonly functions: readonly FunctionLength[];
  /** Tests that do not simply run: `test.skip`, `describe.only` and their kin, with the line. */
  readonly testModes: readonly { readonly mode: string; readonly line: number }[];
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [property: string]: unknown;
}

const TEST_FUNCTIONS = new Set(['it', 'test', 'describe', 'suite']);
const TEST_MODES = new Set(['skip', 'only', 'todo', 'skipIf', 'runIf']);
const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

/** Several checks want the same: a file is parsed once as long as it does not change. */
const known = new Map<string, { readonly text: string; readonly facts: ModuleFacts }>();

export function factsOf(path: string, text: string): ModuleFacts {
  const before = known.get(path);
  if (before?.text === text) return before.facts;
  const facts = readFacts(path, text);
  known.set(path, { text, facts });
  return facts;
}

function readFacts(path: string, text: string): ModuleFacts {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]!.message}`);
  const facts = { imports: [], strings: [], functions: [], testModes: [] };
  const lineAt = lineFinder(text);
  visit(program as unknown as SyntaxNode, undefined, (node, parent) => collect(node, parent, facts, lineAt));
  return facts;
}

function lineFinder(text: string): (offset: number) => number {
  const ends: number[] = [];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) ends.push(at);
  return (offset) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle]! < offset) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  };
}

interface Collected {
  imports: string[];
  strings: string[];
  functions: FunctionLength[];
  testModes: { mode: string; line: number }[];
}

function collect(
  node: SyntaxNode,
  parent: SyntaxNode | undefined,
  facts: Collected,
  lineAt: (at: number) => number,
): void {
  const source = node['source'];
  if (isNode(source) && typeof source['value'] === 'string') facts.imports.push(source['value']);
  if (node.type === 'Literal' && typeof node['value'] === 'string') facts.strings.push(node['value']);
  if (node.type === 'TemplateElement') facts.strings.push((node['value'] as { raw: string }).raw);
  if (FUNCTIONS.has(node.type)) {
    const line = lineAt(node.start);
    facts.functions.push({ name: nameOf(node, parent), line, lines: lineAt(node.end) - line + 1 });
  }
  const mode = testModeOf(node);
  if (mode !== undefined) facts.testModes.push({ mode, line: lineAt(node.start) });
}

function visit(
  node: SyntaxNode,
  parent: SyntaxNode | undefined,
  see: (node: SyntaxNode, parent: SyntaxNode | undefined) => void,
): void {
  see(node, parent);
  for (const child of Object.values(node).flat()) if (isNode(child)) visit(child, node, see);
}

function isNode(value: unknown): value is SyntaxNode {
  return (
    typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
  );
}

function nameOf(node: SyntaxNode, parent: SyntaxNode | undefined): string {
  for (const holder of [node['id'], parent?.['id'], parent?.['key']]) {
    if (isNode(holder) && typeof holder['name'] === 'string') return holder['name'];
  }
  return 'a function without a name';
}

/** `test.skip`, also behind further members: `test.concurrent.skip`. */
function testModeOf(node: SyntaxNode): string | undefined {
  const property = node['property'];
  if (node.type !== 'MemberExpression' || !isNode(property)) return undefined;
  const mode = property['name'];
  if (typeof mode !== 'string' || !TEST_MODES.has(mode)) return undefined;
  let root = node['object'];
  while (isNode(root) && root.type === 'MemberExpression') root = root['object'];
  const name = isNode(root) ? root['name'] : undefined;
  return typeof name === 'string' && TEST_FUNCTIONS.has(name) ? `${name}.${mode}` : undefined;
}

/** The file that an import names, or undefined when it is a package. */
export function resolveImport(tree: Tree, from: string, specifier: string): string | undefined {
  const room = /^baton\/([\w-]+)$/.exec(specifier)?.[1];
  if (room !== undefined) return `src/${room}/index.ts`;
  if (!specifier.startsWith('.')) return undefined;
  const path = posix.join(posix.dirname(from), specifier);
  return (
    [path, path.replace(/\.js$/, '.ts'), `${path}/index.ts`].find((candidate) => tree.has(candidate)) ?? path
  );
}
