/**
 * Transcripts: a scenario and what it prints, in a text file that a person can read, in the manner of etcd's raft.
 * Blocks are separated by an empty line; a block is one or more commands, `----`, and what they print. Lines that
 * begin with `#` explain. With UPDATE_TRANSCRIPTS=1 the outputs are written anew, and the difference is reviewed.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Runs one command and returns the lines that it prints. */
export interface Scene {
  run(words: readonly string[]): readonly string[];
}

export interface Transcript {
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

export function transcriptsIn(directory: string): readonly Transcript[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.txt'));
  return names.sort().map((name) => {
    const path = join(directory, name);
    return { name: name.slice(0, -'.txt'.length), path, text: readFileSync(path, 'utf8') };
  });
}

/** The transcript as the scene plays it now. */
export function replay(text: string, scene: Scene): string {
  const blocks = text.trimEnd().split(/\n{2,}/);
  return `${blocks.map((block) => replayBlock(block, scene)).join('\n\n')}\n`;
}

export function rewriteIfAsked(transcript: Transcript, played: string): string {
  if (process.env['UPDATE_TRANSCRIPTS'] !== '1') return transcript.text;
  writeFileSync(transcript.path, played);
  return played;
}

function replayBlock(block: string, scene: Scene): string {
  const [script = ''] = block.split(/^----$/m);
  const lines = script.trimEnd().split('\n');
  const commands = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (commands.length === 0) return lines.join('\n');
  const printed = commands.flatMap((command) => attempt(scene, command));
  return [...lines, '----', ...(printed.length > 0 ? printed : ['ok'])].join('\n');
}

/** A command that fails is part of the transcript too. */
function attempt(scene: Scene, command: string): readonly string[] {
  try {
    return scene.run(command.split(' '));
  } catch (error) {
    return [`! ${(error as Error).message}`];
  }
}
