/** Whether a set of acceptors that somebody tells of was decided: what the configuration's register says under the set in force. */
import type { Host } from '../protocol/index.ts';
import {
  decodeEnvelope,
  parseConfiguration,
  QUERY,
  QuorumReader,
  type ReadVerdict,
  type RegisterReply,
} from './core/index.ts';
import type { View } from './register.ts';
import { CONFIGURATION_KEY } from './values.ts';

/** Several processes may decide the same at this moment, under ballots of their own. */
const TRIES = 4;
const AGAIN_WITHIN_MS = 20;

/** Whether a quorum has that one, or a later one. What is being decided is found when it is asked for again. */
export async function isDecided(number: number, view: View, host: Host): Promise<boolean> {
  for (let tried = 1; ; tried += 1) {
    const verdict = await ask(number, view);
    if (verdict.verdict === 'agreed') {
      const { json } = decodeEnvelope(verdict.value);
      return json !== undefined && parseConfiguration(json).number >= number;
    }
    if (verdict.verdict === 'unavailable' || tried === TRIES) return false;
    await new Promise<void>((resolve) => {
      host.after(AGAIN_WITHIN_MS * host.random(), resolve);
    });
  }
}

function ask(set: number, { batchers, quorum }: View): Promise<ReadVerdict> {
  const reader = new QuorumReader(quorum);
  // Those who know that set already answer nobody of an older one.
  const request = { key: CONFIGURATION_KEY, set, message: QUERY };
  return new Promise((resolve) => {
    const take = (index: number, reply: RegisterReply): void => {
      const said = reply.type === 'state' ? reader.onState(reply) : reader.onMissing(index);
      if (said !== undefined) resolve(said);
    };
    for (const batcher of batchers) batcher.send(request, take);
  });
}
