import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ProposerScene } from '../../../test/caspaxos/proposer-scene.ts';
import { RoleScene } from '../../../test/caspaxos/role-scene.ts';
import { replay, rewriteIfAsked, transcriptsIn } from '../../../test/caspaxos/transcripts.ts';

const transcripts = transcriptsIn(fileURLToPath(new URL('./testdata', import.meta.url)));

test.each(transcripts)('the transcript $name plays as written', (transcript) => {
  const scene = transcript.name.startsWith('roles') ? new RoleScene() : new ProposerScene();
  const played = replay(transcript.text, scene);
  expect(played).toBe(rewriteIfAsked(transcript, played));
});

test('there are transcripts of the roles and of the proposer', () => {
  const kinds = new Set(transcripts.map(({ name }) => name.split('-')[0]));
  expect(kinds).toEqual(new Set(['proposer', 'roles']));
});
