import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { replay, rewriteIfAsked, transcriptsIn } from '../../../../test/caspaxos/transcripts.ts';
import { FailoverScene } from '../../../../test/failover/failover-scene.ts';

const folder = new URL('../../../../test/failover/transcripts', import.meta.url);
const transcripts = transcriptsIn(fileURLToPath(folder));

test.each(transcripts)('the transcript $name plays as written', (transcript) => {
  const played = replay(transcript.text, new FailoverScene());
  expect(played).toBe(rewriteIfAsked(transcript, played));
});
