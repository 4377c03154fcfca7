import { describe, expect, test } from 'vitest';
import { brokenLinks, complaintsAboutFrontPage, missingDocuments, unknownCommands } from './documents.ts';
import { codesInFirstColumn, GENERATED, type Generated, stale } from './generated.ts';
import { repositoryTree, treeOf } from './tree.ts';

describe('the documents', () => {
  test('are all there', () => {
    expect(missingDocuments(repositoryTree())).toEqual([]);
  });

  test('begin with a README that says early what this is and for whom, and is short', () => {
    expect(complaintsAboutFrontPage(repositoryTree())).toEqual([]);
  });

  test('link to what exists', () => {
    expect(brokenLinks(repositoryTree())).toEqual([]);
  });

  test('name commands that exist', () => {
    expect(unknownCommands(repositoryTree())).toEqual([]);
  });

  test.each(GENERATED)('repeat the code: $part in $file', (row) => {
    expect(stale(repositoryTree(), row)).toEqual([]);
  });
});

describe('the checks of documents', () => {
  test('catch one that is missing or empty', () => {
    const tree = treeOf({ 'README.md': 'Read me', 'CHANGELOG.md': '', 'ARCHITECTURE.md': 'x', LICENSE: 'x' });
    expect(missingDocuments(tree)).toEqual(['there is no CHANGELOG.md', 'there is no CONTRIBUTING.md']);
  });

  test('catch a README that comes late to the point, or is long', () => {
    const good = '# Baton\n\nBaton is a database. It is for you.\n\n![Figure](a.svg)\n';
    const complaints = (text: string) => complaintsAboutFrontPage(treeOf({ 'README.md': text }));
    expect(complaints(good + 'more\n'.repeat(145))).toEqual([]);
    expect(complaints(good + 'more\n'.repeat(146))).toEqual(['README.md has 151 lines, over 150']);
    expect(complaints(`# News\n\na\n\nb\n${good}`)).toEqual([
      'README.md does not say in its first 5 lines what Baton is',
      'README.md does not say in its first 5 lines for whom',
    ]);
    expect(complaints('# Baton\n\nBaton is a database. It is for you.\n')).toEqual([
      'README.md has no picture',
    ]);
  });

  test('catch a link that leads nowhere, in every form', () => {
    const text = '[a](docs/absent.md) and [b](docs/here.md#part)\n[c]: ./gone.md\n[d](../outside.md)';
    expect(brokenLinks(treeOf({ 'README.md': text, 'docs/here.md': '[up](../README.md)' }))).toEqual([
      'README.md links to docs/absent.md',
      'README.md links to ../outside.md',
      'README.md links to ./gone.md',
    ]);
  });

  test('know a link from code, an address and an anchor', () => {
    const text = '```ts\nconst a = [b](c.md);\n```\n`[d](e.md)` [f](https://example.org/g.md) [h](#i)';
    expect(brokenLinks(treeOf({ 'README.md': text }))).toEqual([]);
  });

  test('catch a command that does not exist', () => {
    const scripts = JSON.stringify({ scripts: { test: '', 'bench:caspaxos': '' } });
    const text =
      'Run `npm test`, `npm start`, `npm run bench:caspaxos`, `npm run bench:...` or `npm run spec`; npm install baton.';
    const found = unknownCommands(treeOf({ 'README.md': text, 'package.json': scripts }));
    expect(found).toEqual(['README.md names npm run start', 'README.md names npm run spec']);
  });

  const row: Generated = {
    file: 'a.md',
    part: 'errors',
    expected: () => ['ONE', 'TWO_MORE'],
    found: codesInFirstColumn,
  };

  test('read the codes of a table', () => {
    const table = '| code | cause |\n|---|---|\n| `ONE` | as `OTHER` |\n| `TWO_MORE` | |\n';
    const text = `# Errors\n| \`BEFORE\` | |\n<!-- errors:begin -->\n${table}<!-- errors:end -->\n`;
    expect(stale(treeOf({ 'a.md': text }), row)).toEqual([]);
  });

  test.each([
    ['one that is missing', '| `ONE` | |', 'a.md lacks TWO_MORE'],
    ['one too many', '| `ONE` | |\n| `TWO_MORE` | |\n| `THREE` | |', 'a.md has THREE, the code has not'],
    ['one that is there twice', '| `ONE` | |\n| `TWO_MORE` | |\n| `ONE` | |', 'a.md has ONE twice'],
  ])('catch %s', (_, table, complaint) => {
    const text = `<!-- errors:begin -->\n${table}\n<!-- errors:end -->`;
    expect(stale(treeOf({ 'a.md': text }), row)).toEqual([complaint]);
  });

  test('catch a part without its marks, and a file that is not there', () => {
    expect(stale(treeOf({ 'a.md': '<!-- errors:begin --> | `ONE` |' }), row)).toEqual([
      'a.md has no part errors',
    ]);
    expect(stale(treeOf({}), row)).toEqual(['there is no a.md']);
  });
});
