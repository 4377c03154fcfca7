/**
 * States that no run reaches, each broken in one way: an invariant that does not object to them checks nothing. The
 * spec's invariants and those of the model must object to the same ones. The configuration is `pass-read`: three
 * acceptors, two ballots, the second of which reads, real time.
 */
import type { ModelState } from './roles-model.ts';

export const PLANTED_CONFIGURATION = 'pass-read';

export interface PlantedState {
  readonly broken: string;
  readonly how: string;
  readonly state: Partial<ModelState>;
}

const sent1b = (acc: number, bal: number, abal = 0, aval = '[]'): string =>
  `{"abal":${abal},"acc":${acc},"aval":${aval},"bal":${bal}}`;
const sent2a = (bal: number, val: string, next = 0): string => `{"bal":${bal},"next":${next},"val":${val}}`;
const sent2b = (acc: number, bal: number, val: string, next = 0): string =>
  `{"acc":${acc},"bal":${bal},"next":${next},"val":${val}}`;
const report = (bal: number, val: string): string => `{"bal":${bal},"val":${val}}`;

/** Two acceptors hold the first ballot's value. */
const ONE_CHOSEN: Partial<ModelState> = {
  promised: [1, 1, 0],
  accepted: [1, 1, 0],
  value: ['[1]', '[1]', '[]'],
  sent1a: ['1'],
  sent2a: [sent2a(1, '[1]')],
  sent2b: [sent2b(1, 1, '[1]'), sent2b(2, 1, '[1]')],
  learned: [report(1, '[1]')],
};

export const SOUND_STATES: readonly Partial<ModelState>[] = [{}, ONE_CHOSEN];

export const PLANTED_STATES: readonly PlantedState[] = [
  { broken: 'TypeOK', how: 'a promise of a ballot that does not exist', state: { promised: [3, 0, 0] } },
  {
    broken: 'TypeOK',
    how: 'a ballot accepted without a value',
    state: { promised: [1, 0, 0], accepted: [1, 0, 0] },
  },
  { broken: 'TypeOK', how: 'a 1a of a ballot that does not exist', state: { sent1a: ['3'] } },
  { broken: 'TypeOK', how: 'a 1b without a 1a', state: { promised: [1, 0, 0], sent1b: [sent1b(1, 1)] } },
  { broken: 'TypeOK', how: 'a next ballot that is not higher', state: { sent2a: [sent2a(2, '[2]', 1)] } },
  { broken: 'TypeOK', how: 'a 2b without a 2a', state: { ...ONE_CHOSEN, sent2a: [] } },
  { broken: 'TypeOK', how: 'a read by a ballot that writes', state: { reads: [report(1, '[]')] } },
  { broken: 'TypeOK', how: 'a query where there is none', state: { reads: [report(0, '[]')] } },
  {
    broken: 'PromisedCoversAccepted',
    how: 'more accepted than promised',
    state: { promised: [1, 0, 0], accepted: [2, 0, 0], value: ['[2]', '[]', '[]'] },
  },
  {
    broken: 'NoStepBack',
    how: 'a promise taken back',
    state: { promised: [1, 0, 0], sent1a: ['1', '2'], sent1b: [sent1b(1, 2)] },
  },
  {
    broken: 'NoStepBack',
    how: 'a value lost that a promise reported',
    state: { promised: [2, 0, 0], sent1a: ['2'], sent1b: [sent1b(1, 2, 1, '[1]')] },
  },
  {
    broken: 'NoStepBack',
    how: 'a value lost that was acknowledged',
    state: { ...ONE_CHOSEN, accepted: [0, 1, 0], value: ['[]', '[1]', '[]'] },
  },
  {
    broken: 'NoStepBack',
    how: 'a further promise taken back',
    state: {
      ...ONE_CHOSEN,
      sent2a: [sent2a(1, '[1]', 2)],
      sent2b: [sent2b(1, 1, '[1]', 2), sent2b(2, 1, '[1]')],
    },
  },
  {
    broken: 'OneVotePerAcceptor',
    how: 'an acceptor for two values of a ballot',
    state: { ...ONE_CHOSEN, sent2b: [sent2b(1, 1, '[1]'), sent2b(1, 1, '[1,1]')], learned: [] },
  },
  {
    broken: 'OneValuePerBallot',
    how: 'two acceptors for two values of a ballot',
    state: { ...ONE_CHOSEN, sent2b: [sent2b(1, 1, '[1]'), sent2b(2, 1, '[1,1]')], learned: [] },
  },
  {
    broken: 'ChosenDescends',
    how: 'a chosen value lost',
    state: {
      ...ONE_CHOSEN,
      sent2b: [...ONE_CHOSEN.sent2b!, sent2b(2, 2, '[2]'), sent2b(3, 2, '[2]')],
    },
  },
  {
    broken: 'LearnedIsChosen',
    how: 'a vote too few',
    state: { ...ONE_CHOSEN, sent2b: [sent2b(1, 1, '[1]')] },
  },
  { broken: 'ReadIsChosen', how: 'a read of what nobody has', state: { reads: [report(2, '[1]')] } },
  { broken: 'RealTimeOrder', how: 'a change behind its time', state: { ...ONE_CHOSEN, began: [2, 0] } },
  {
    broken: 'RealTimeOrder',
    how: 'a read behind its time',
    state: { ...ONE_CHOSEN, began: [0, 1], reads: [report(2, '[]')] },
  },
];
