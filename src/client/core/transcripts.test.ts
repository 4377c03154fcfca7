import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { replay, rewriteIfAsked, type Scene, transcriptsIn } from '../../../test/caspaxos/transcripts.ts';
import { epochOf, type ReadLevel } from '../../engine/core/index.ts';
import { HedgeBudget } from './hedging.ts';
import type { NodeAnswer } from './judging.ts';
import { OperationPlan, type PlanEvent, type PlanOutput } from './plan.ts';
import { RegionCache, type WriterHint } from './regions.ts';

const SET = 'items-00';

/** One client of one partition-set, whose operations, nodes and clock are played by hand. Chance is always 0.5. */
class ClientScene implements Scene {
  #cache = new RegionCache(['west', 'east', 'south']);
  #budget = new HedgeBudget();
  #plan: OperationPlan<NodeAnswer> | undefined;
  #now = 0;
  #timerAtMs = 0;

  run([command = '', ...words]: readonly string[]): readonly string[] {
    switch (command) {
      case 'regions':
        this.#cache = new RegionCache(words);
        return [];
      case 'write':
      case 'read':
        return this.#begin(command, words);
      case 'wait':
        this.#now += Number(words[0]);
        return [];
      case 'timer':
        this.#now = Math.max(this.#now, this.#timerAtMs);
        return [`at ${this.#now}`, ...this.#tell({ type: 'timer' })];
      case 'abort':
      case 'news':
        return this.#tell({ type: command });
      case 'sending':
        this.#plan!.sending(Number(words[0]));
        return [];
      case 'learn':
        this.#cache.hinted(SET, hintIn(words[0]!), this.#now);
        return [];
      case 'answer':
        return this.#tell({ type: 'answered', attempt: Number(words[0]), answer: answerIn(words.slice(1)) });
      case 'fail':
        return this.#fail(words);
      case 'cache':
        return this.#show();
      default:
        throw new Error(`there is no command ${command}`);
    }
  }

  #begin(kind: 'write' | 'read', words: readonly string[]): readonly string[] {
    const { deadline = '5000', level, account, hedge, attempts, door, preferred } = fieldsIn(words);
    const [region = '', holdMs] = (door ?? '').split('/');
    this.#plan = new OperationPlan(this.#cache, {
      partitionSet: SET,
      kind,
      deadlineAtMs: this.#now + Number(deadline),
      tellsSending: words.includes('told'),
      findsWriters: words.includes('sought'),
      repeatable: words.includes('id') ? 'by operation id' : 'no',
      ...(level !== undefined && { level: level as ReadLevel }),
      ...(account !== undefined && { accountLevel: account as ReadLevel }),
      ...(hedge !== undefined && {
        hedge: { afterMs: hedge === 'p95' ? hedge : Number(hedge), budget: this.#budget },
      }),
      ...(door !== undefined && { door: { region, holdMs: Number(holdMs) } }),
      ...(preferred !== undefined && { preferred }),
      ...(attempts !== undefined && { settings: { maxAttempts: Number(attempts) } }),
    });
    return this.#tell({ type: 'start' });
  }

  #fail([attempt, outcome, code = '', ...rest]: readonly string[]): readonly string[] {
    const { after } = fieldsIn(rest);
    const failure = {
      outcome: outcome === 'unsent' ? ('not sent' as const) : ('unknown' as const),
      code,
      ...(after !== undefined && { retryAfterMs: Number(after) }),
    };
    return this.#tell({ type: 'failed', attempt: Number(attempt), failure });
  }

  #tell(event: PlanEvent<NodeAnswer>): readonly string[] {
    return this.#plan!.handle(event, this.#now, 0.5).flatMap((output) => this.#print(output));
  }

  #print(output: PlanOutput<NodeAnswer>): readonly string[] {
    switch (output.type) {
      case 'attempt': {
        const { id, kind, region, timeoutMs, why } = output;
        return [`attempt ${id}: ${kind} in ${region} within ${timeoutMs}: ${why}`];
      }
      case 'cancel':
        return [`cancel ${output.attempt}`];
      case 'setTimer':
        this.#timerAtMs = this.#now + output.inMs;
        return [`timer in ${output.inMs}`];
      case 'refreshMap':
        return ['refresh the map'];
      case 'findWriter':
        return [`find the writer within ${output.withinMs}`];
      case 'done': {
        const { result } = output;
        const lines = output.diagnostics.map(
          ({ attempt, region, startedAtMs, durationMs, what }) =>
            `  ${attempt} ${region} ${startedAtMs}+${durationMs} ${what}`,
        );
        if (result.ok) return [`done in ${result.region}`, ...lines];
        const { code, outcome, last = '-' } = result.error;
        return [`failed: ${code}, ${outcome}, last ${last}`, ...lines];
      }
    }
  }

  #show(): readonly string[] {
    const writer = this.#cache.writerOf(SET);
    const known = writer === undefined ? 'nobody' : `${writer.region} ${writer.gcn} by ${writer.from}`;
    const isLikely = this.#cache.likelyWriter(SET) !== undefined;
    return [
      `writer: ${known}${writer === undefined || isLikely ? '' : ', doubted'}`,
      ...this.#cache.regions.flatMap((region) =>
        (['write', 'read'] as const).flatMap((kind) => {
          const evidence = this.#cache.evidenceAgainst(SET, region, kind);
          return evidence === undefined
            ? []
            : [`against ${kind} in ${region}: ${evidence.code} x${evidence.times}`];
        }),
      ),
    ];
  }
}

function fieldsIn(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(words.filter((word) => word.includes('=')).map((word) => word.split('=')));
}

/** Such as `east/8`. */
function hintIn(word: string): WriterHint {
  const [region = '', gcn] = word.split('/');
  return { region, gcn: Number(gcn) };
}

/** `done 7`, `status 409`, `unknown`, or a refusal: `NOT_WRITER writer=east/8`. The number is a GCN. */
function answerIn([what = '', ...rest]: readonly string[]): NodeAnswer {
  const { writer, after } = fieldsIn(rest);
  if (what === 'unknown') return { outcome: 'unknown' };
  if (what === 'done' || what === 'status') {
    const status = what === 'status' ? Number(rest[0]) : 200;
    const gcn = what === 'done' ? Number(rest[0] ?? 1) : 1;
    return { outcome: 'done', position: { epoch: epochOf(gcn), lsn: 1 }, results: [{ status }] };
  }
  return {
    outcome: 'refused',
    code: what,
    ...(writer !== undefined && { writer: hintIn(writer) }),
    ...(after !== undefined && { retryAfterMs: Number(after) }),
  };
}

const transcripts = transcriptsIn(fileURLToPath(new URL('./testdata', import.meta.url)));

test.each(transcripts)('the transcript $name plays as written', (transcript) => {
  const played = replay(transcript.text, new ClientScene());
  expect(played).toBe(rewriteIfAsked(transcript, played));
});

test('there are transcripts of writes and of reads', () => {
  const kinds = new Set(transcripts.map(({ name }) => name.split('-')[0]));
  expect(kinds).toEqual(new Set(['write', 'read']));
});
