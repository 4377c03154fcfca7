import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { HostFleet, type Line, LogBook, PARTITION_SET } from '../../test/failover/host-fleet.ts';
import { accepted, failedOver, healthy, quiesced, quiescing, silence } from '../../test/failover/reports.ts';
import { AgentLog } from './agent-log.ts';
import { type FailoverState, sentenceOf } from './core/index.ts';

const TRANSITIONS = ['raised', 'elected', 'began', 'switched', 'gave up'];

const brief = ({ level, fields: { what, cause, from, to } }: Line) => [level, what, cause, from, to];

describe('agents of three regions', () => {
  let fleet: HostFleet | undefined;
  const threeRegions = async (): Promise<HostFleet> => {
    fleet = await HostFleet.of(['west', 'east', 'north']);
    return fleet;
  };
  afterEach(() => fleet?.end());

  test('a new partition-set is found once, and that is no transition', async () => {
    const there = await threeRegions();
    await there.pass(2000);
    for (const { log, region } of there.processes.values()) {
      const found = { gcn: 1, step: 1, phase: 'Steady', writer: 'west', what: 'found', cause: 'creation' };
      const notRoles = log.lines.filter(({ fields }) => fields['what'] !== 'role');
      expect(notRoles.map(({ level, fields }) => [level, fields])).toEqual([
        ['debug', { partitionSet: PARTITION_SET, region, ...found }],
      ]);
      const role = region === 'west' ? { role: 'writer', accepts: true } : { role: 'reader' };
      expect(log.of('role').at(-1)!.fields).toMatchObject({ partitionSet: PARTITION_SET, gcn: 1, ...role });
    }
  });

  test('each transition is one line in each process that sees it, with partition-set, GCN and cause', async () => {
    const there = await threeRegions();
    await there.outage();
    const failover = [
      ['warn', 'raised', 'silence', 1, 2],
      ['info', 'elected', 'silence', 2, 2],
    ];
    const failback = [
      ['info', 'began', 'priority', 2, 2],
      ['info', 'switched', 'priority', 2, 3],
    ];
    for (const region of ['east', 'north']) {
      const { log } = there.process(region);
      expect(log.of(...TRANSITIONS).map(brief)).toEqual([...failover, ...failback]);
      expect(log.of('raised')[0]!.fields).toMatchObject({ lost: 'west', writer: null, phase: 'Ungraceful' });
      expect(log.of('elected')[0]!.fields).toMatchObject({ target: 'east', writer: 'east', phase: 'Steady' });
      expect(log.of('switched')[0]!.fields).toMatchObject({ target: 'west', writer: 'west', gcn: 3 });
      expect(log.of('quiescing').map(({ fields }) => fields)).toMatchObject([{ gcn: 2, cause: 'priority' }]);
    }
    expect(
      there
        .process('west')
        .log.of(...TRANSITIONS)
        .map(brief),
    ).toEqual(failback);
    for (const { log, region } of [there.process('west'), there.process('east'), there.process('north')])
      for (const { fields } of log.lines)
        expect(fields).toMatchObject({ partitionSet: PARTITION_SET, region });
  });

  test('the message is the sentence of the transition, and says who made it', async () => {
    const there = await threeRegions();
    await there.outage();
    const { state } = there.process('north').host.agentOf(PARTITION_SET)!;
    const lines = there.process('north').log.of(...TRANSITIONS);
    expect(lines.slice(-3).map(({ message }) => message)).toEqual(state!.history.map(sentenceOf));
    expect(lines.slice(-3).map(({ fields }) => fields['by'])).toEqual(state!.history.map(({ who }) => who));
  });

  test('a writer that is cut off loses its lease; what it missed is told when it is back, once', async () => {
    const there = await threeRegions();
    const { log } = there.process('west');
    there.cutOff.add('west');
    await there.untilWritesAt('east');
    const about = { partitionSet: PARTITION_SET, region: 'west', gcn: 1 };
    expect(log.lines.slice(-2).map(({ level, fields }) => [level, fields])).toEqual([
      ['warn', { ...about, what: 'lease lost' }],
      ['info', { ...about, what: 'role', role: 'writer', accepts: false }],
    ]);
    there.cutOff.delete('west');
    await there.untilWritesAt('west');
    await there.pass(3000);
    expect(log.of(...TRANSITIONS).map(({ fields }) => fields['what'])).toEqual([
      'raised',
      'elected',
      'began',
      'switched',
    ]);
    expect(log.of('raised')[0]!.fields).toMatchObject({ from: 1, to: 2, gcn: 2, cause: 'silence' });
  });

  test('a process that a later one has replaced is refused, and stops', async () => {
    const there = await threeRegions();
    const replaced = there.process('west');
    const { log } = replaced;
    await there.start('west');
    for (let waited = 0; waited < 3000 && log.of('stopped').length === 0; waited += 10) await there.pass(10);
    await there.pass(3000);
    await there.during(replaced.end());
    expect(log.of('refused')).toMatchObject([
      {
        level: 'warn',
        fields: {
          partitionSet: PARTITION_SET,
          region: 'west',
          code: 'INCARNATION_OLD',
          field: 'incarnation',
        },
      },
    ]);
    expect(log.of('refused')[0]!.message).toMatch(/process/);
    expect(log.of('stopped')).toMatchObject([{ level: 'info', fields: { partitionSet: PARTITION_SET } }]);
  });
});

describe('one line at a time', () => {
  function told(before: FailoverState | undefined, state: FailoverState): readonly Line[] {
    const book = new LogBook();
    new AgentLog(book, 'B').onEvent('orders-7', { event: 'state', state, before });
    return book.lines;
  }

  test('several transitions in one state are several lines, the oldest first', () => {
    expect(told(healthy(), failedOver(healthy(), ['C', 'B'])).map(({ fields }) => fields)).toEqual([
      {
        partitionSet: 'orders-7',
        region: 'B',
        gcn: 2,
        step: 3,
        phase: 'Steady',
        writer: 'B',
        what: 'raised',
        cause: 'silence',
        by: 'C',
        from: 1,
        to: 2,
        lost: 'A',
      },
      {
        partitionSet: 'orders-7',
        region: 'B',
        gcn: 2,
        step: 3,
        phase: 'Steady',
        writer: 'B',
        what: 'elected',
        cause: 'silence',
        by: 'B',
        from: 2,
        to: 2,
        target: 'B',
      },
    ]);
  });

  test('a change of phase that left no entry is a line all the same', () => {
    const raised = accepted(healthy(), silence(healthy(), 'B'));
    const [line, ...others] = told(healthy(), { ...raised, history: [] });
    expect(line).toMatchObject({
      level: 'info',
      fields: { what: 'step', phase: 'Ungraceful', gcn: 2, writer: null, cause: 'silence' },
      message: 'Another step: GCN 2, Ungraceful, write region none.',
    });
    expect(others).toEqual([]);
  });

  test('a move that is given up is a warning', () => {
    const before = quiescing('B');
    const entry = {
      ...quiesced(before).history.at(-1)!,
      what: 'gave up',
      why: 'took too long',
      to: 1,
    } as const;
    const gaveUp = { ...before, step: before.step + 1, history: [...before.history, entry] };
    expect(told(before, gaveUp).map(brief)).toEqual([['warn', 'gave up', 'took too long', 1, 1]]);
  });

  test('a suspension, a role that was taken, and one that could not be', () => {
    const book = new LogBook();
    const log = new AgentLog(book, 'west');
    const error = new Error('disk full');
    log.suspended(12);
    log.assumed('orders-7', {
      role: 'writer',
      serves: { level: 'Strong' },
      keeps: { level: 'Strong' },
      epoch: 4,
      accepts: false,
      commitSet: ['west'],
    });
    log.assumed('orders-7', { role: 'gone' });
    log.assumeFailed('orders-7', { role: 'fenced', epoch: 5 }, error);
    const about = { partitionSet: 'orders-7', region: 'west' };
    expect(book.lines.map(({ level, fields }) => [level, fields])).toEqual([
      ['warn', { region: 'west', what: 'suspended', agents: 12 }],
      ['info', { ...about, what: 'role', role: 'writer', gcn: 4, accepts: false }],
      ['info', { ...about, what: 'role', role: 'gone' }],
      ['error', { ...about, what: 'role failed', role: 'fenced', gcn: 5, err: error }],
    ]);
  });

  test('pino takes it', () => {
    const written: string[] = [];
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        written.push(String(chunk));
        done();
      },
    });
    const state = accepted(healthy(), silence(healthy(), 'B'));
    new AgentLog(pino(stream), 'B').onEvent('orders-7', { event: 'state', state, before: healthy() });
    expect(written.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 40, partitionSet: 'orders-7', gcn: 2, cause: 'silence', msg: sentenceOf(state.history[0]!) },
    ]);
  });
});
