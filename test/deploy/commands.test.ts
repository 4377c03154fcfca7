import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { acceptorCommand } from '../../src/cli/acceptor.ts';
import { acceptorsCommand } from '../../src/cli/acceptors/command.ts';
import { certsCommand } from '../../src/cli/certs.ts';
import { dnsCommand } from '../../src/cli/dns.ts';
import { gatewayCommand } from '../../src/cli/gateway.ts';
import { nodeCommand } from '../../src/cli/node.ts';
import { operatorCommands } from '../../src/cli/operate/index.ts';
import { deployed, documented } from './files.ts';

const program = new Command('baton');
const roles = [
  acceptorCommand(),
  acceptorsCommand(),
  certsCommand(),
  dnsCommand(),
  gatewayCommand(),
  nodeCommand(),
];
for (const command of [...roles, ...operatorCommands()]) program.addCommand(command);

/** Every command line with `baton` in a text: in code, and after other words on the same line. */
function linesIn(text: string): string[] {
  return [...text.matchAll(/(?:^|[\s`(/])baton ([a-z][^\n`;|)#]*)/gm)].map(([, line]) => line!.trim());
}

/** What a command line names that the program does not have. */
function complaintsAbout(line: string): string[] {
  let command = program;
  const complaints: string[] = [];
  for (const word of line.split(/\s+/)) {
    const next = command.commands.find((one) => one.name() === word);
    if (next !== undefined) command = next;
    else if (command === program) return [`there is no command in: baton ${line}`];
    else if (/^-{1,2}[a-z]/.test(word) && word !== '--help' && !hasOption(command, word))
      complaints.push(`baton ${command.name()} has no ${word}`);
  }
  return complaints;
}

function hasOption({ options }: Command, flag: string): boolean {
  return options.some(({ long, short }) => long === flag || short === flag);
}

/** Code of a page: fenced or not; its prose may speak of anything. */
function codeIn(markdown: string): string {
  return [...markdown.matchAll(/^\s*```.*?^\s*```|`[^`\n]+`/gms)].map(([code]) => code).join('\n');
}

describe('the commands of the documentation and the units', () => {
  test('are found', () => {
    const code = codeIn(
      'Use `baton list --watch`.\n```\nx=$(baton lost-writes show a/1/2 | jq) # baton\n```\nbaton nothing',
    );
    expect(linesIn(code)).toEqual(['list --watch', 'lost-writes show a/1/2']);
  });

  test('are caught when they do not exist', () => {
    expect(complaintsAbout('lits --watch')).toEqual(['there is no command in: baton lits --watch']);
    expect(complaintsAbout('lost-writes reapply a/1/2 --sure')).toEqual(['baton reapply has no --sure']);
    expect(complaintsAbout('node --config baton.yaml --name %i')).toEqual([]);
  });

  test('exist, in docs/operations.md', () => {
    const lines = linesIn(codeIn(documented('operations.md')));
    expect(lines.length).toBeGreaterThan(30);
    expect(lines.flatMap(complaintsAbout)).toEqual([]);
  });

  test.each([
    'baton-node@.service',
    'baton-acceptor@.service',
    'baton-gateway@.service',
    'baton-dns.service',
    'prometheus/scrape.yml',
  ])('exist, in deploy/%s', (name) => {
    const lines = linesIn(deployed(name));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.flatMap(complaintsAbout)).toEqual([]);
  });
});
