/** One partition-set: its register, what each region was told, reported and measures, its history, and what can be done to it. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { KeptEntry, LocalDetail, SetDetail } from '../api.ts';
import { messageOf } from '../net/http.ts';
import { NOBODY, UNKNOWN } from '../state/fleet.ts';
import { causeInWords } from '../state/timeline.ts';
import { useSeen, useStore } from '../store.ts';
import { SetActions } from './actions.tsx';
import { bytes, count } from './format.ts';
import { Card, Empty, Health, RegionBadge, Scroll, Tile } from './parts.tsx';

interface Loaded {
  readonly detail: SetDetail;
  readonly copies: readonly LocalDetail[];
  readonly history: readonly KeptEntry[];
}

const EVERY_MS = 3000;

export function SetView({ name }: { readonly name: string }): JSX.Element {
  const [loaded, trouble, reload] = useLoaded(name);
  return (
    <>
      <p class="crumb">
        <a href="#/">Fleet</a> / {loaded?.detail.container ?? '…'}
      </p>
      <h1 class="set-name">{name}</h1>
      {trouble !== '' && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
      {loaded === undefined && trouble === '' && <Empty>Loading …</Empty>}
      {loaded !== undefined && <Loaded {...loaded} onDone={reload} />}
    </>
  );
}

/** Read again every few seconds, and at once when the stream says that it has moved. */
function useLoaded(name: string): [Loaded | undefined, string, () => void] {
  const { cluster } = useStore();
  const [loaded, setLoaded] = useState<Loaded | undefined>(undefined);
  const [trouble, setTrouble] = useState('');
  const [asked, setAsked] = useState(0);
  const moved = useSeen(({ fleet }) => {
    const set = fleet.find(name);
    return set === undefined ? '' : `${set.gcn} ${set.step} ${set.writable}`;
  });
  useEffect(() => {
    let isCurrent = true;
    const load = async (): Promise<void> => {
      try {
        const [{ fresh, copies }, history] = await Promise.all([cluster.detail(name), cluster.history(name)]);
        if (!isCurrent) return;
        setLoaded({ detail: fresh, copies: copies.flatMap(({ local }) => local ?? []), history });
        setTrouble('');
      } catch (error) {
        if (isCurrent) setTrouble(messageOf(error));
      }
    };
    void load();
    const timer = setInterval(() => void load(), EVERY_MS);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [name, moved, asked]);
  useEffect(() => setLoaded(undefined), [name]);
  return [loaded, trouble, () => setAsked(asked + 1)];
}

function Loaded({ detail, copies, history, onDone }: Loaded & { readonly onDone: () => void }): JSX.Element {
  const { configuration, intents } = detail;
  return (
    <>
      <SetTiles detail={detail} />
      <SetActions detail={detail} onDone={onDone} />
      <Card
        title="Regions: assigned, reported, measured"
        note="Assigned: the role that the register gives the region. Reported: what the region last wrote to the register. Measured: what its node reports now. They can differ for a moment."
      >
        <RegionTable detail={detail} copies={copies} />
      </Card>
      <div class="pair">
        <Card title="History">
          <History entries={history} />
        </Card>
        <Card title="Settings">
          <dl class="pairs">
            <dt>consistency</dt>
            <dd>{configuration.consistency}</dd>
            <dt>minimum durability</dt>
            <dd>{configuration.minDurability}</dd>
            <dt>priorities</dt>
            <dd>{configuration.priorities.join(', ')}</dd>
            <dt>key range</dt>
            <dd class="keys">
              {shown(detail.range.from, 'first key')} to {shown(detail.range.to, 'last key')}
            </dd>
            <dt>automatic failover</dt>
            <dd>{detail.pausedAutomatic ? 'paused' : 'on'}</dd>
            <dt>pinned by an operator to</dt>
            <dd>{detail.pin ?? 'no region'}</dd>
            <dt>open intents</dt>
            <dd>
              {intents.open.length === 0
                ? 'none'
                : intents.open.map(({ kind, target, who }) => `${kind} ${target ?? ''} (${who})`).join(', ')}
            </dd>
          </dl>
        </Card>
      </div>
    </>
  );
}

/** Effective partition keys are long and end in zeros. */
function shown(key: string, otherwise: string): string {
  return key === '' ? otherwise : key.replace(/(?:00){2,}$/, '…');
}

function SetTiles({ detail }: { readonly detail: SetDetail }): JSX.Element {
  const writable = useSeen(({ fleet }) => fleet.find(detail.partitionSet)?.writable ?? UNKNOWN);
  const { regions } = useStore().model.fleet;
  const moving = detail.target === null ? 'electing a write region' : `moving to ${detail.target}`;
  return (
    <dl class="tiles">
      <Tile
        name="Write region"
        value={<RegionBadge name={detail.writeRegion} />}
        detail="according to the register"
      />
      <Tile
        name="Writable"
        value={writable === UNKNOWN ? '–' : writable === NOBODY ? 'no' : 'yes'}
        detail={writable >= 0 ? `in ${regions[writable]}` : 'right now'}
        tone={writable === UNKNOWN ? undefined : writable === NOBODY ? 'bad' : 'good'}
      />
      <Tile
        name="Phase"
        value={detail.phase}
        detail={detail.phase === 'Steady' ? 'no move in progress' : moving}
        tone={detail.phase === 'Steady' ? undefined : 'warn'}
      />
      <Tile name="GCN" value={count(detail.gcn)} detail={`because ${causeInWords(detail.cause)}`} />
      <Tile
        name="Lease set"
        value={`${detail.leaseSet.length} of ${Object.keys(detail.regions).length}`}
        detail={detail.leaseSet.join(', ')}
      />
    </dl>
  );
}

const COLUMNS: readonly (readonly [name: string, isNumber: boolean])[] = [
  ['status', false],
  ['lease set', false],
  ['alive', false],
  ['beat', true],
  ['progress', true],
  ['committed', true],
  ['role', false],
  ['write', false],
  ['read', false],
  ['progress', true],
  ['log', true],
];

function RegionTable({
  detail,
  copies,
}: {
  readonly detail: SetDetail;
  readonly copies: readonly LocalDetail[];
}): JSX.Element {
  const names = [...new Set([...detail.configuration.priorities, ...Object.keys(detail.regions)])];
  return (
    <Scroll label="Regions of the partition-set">
      <table class="grouped">
        <thead>
          <tr>
            <th scope="col" rowSpan={2}>
              region
            </th>
            <th scope="colgroup" colSpan={2}>
              assigned
            </th>
            <th scope="colgroup" colSpan={4}>
              reported
            </th>
            <th scope="colgroup" colSpan={5}>
              measured
            </th>
          </tr>
          <tr>
            {COLUMNS.map(([name, isNumber], at) => (
              <th scope="col" key={at} class={isNumber ? 'number' : ''}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <RegionRow
              key={name}
              name={name}
              detail={detail}
              local={copies.find(({ region }) => region === name)}
            />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const STATUSES: Readonly<Record<string, string>> = {
  ReadWrite: 'read and write',
  ReadWriteWithWritesQuiesced: 'writes quiesced',
  ReadOnlyReplicationAllowed: 'read, replicate',
  ReadOnlyReplicationDisallowed: 'read, fenced',
};

function RegionRow(props: {
  readonly name: string;
  readonly detail: SetDetail;
  readonly local: LocalDetail | undefined;
}): JSX.Element {
  const { name, detail, local } = props;
  const told = detail.regions[name];
  return (
    <tr>
      <th scope="row">
        <RegionBadge name={name} />
      </th>
      <td title={told?.status}>{told === undefined ? '–' : (STATUSES[told.status] ?? told.status)}</td>
      <td>{detail.leaseSet.includes(name) ? 'yes' : 'no'}</td>
      <td>
        {told === undefined ? (
          '–'
        ) : (
          <Health tone={told.isLive ? 'good' : 'bad'}>
            {told.isLive ? 'alive' : told.isStopped ? 'stopped' : 'silent'}
          </Health>
        )}
      </td>
      <td class="number">{told === undefined ? '–' : count(told.beat)}</td>
      <td class="number">{progress(told?.progress)}</td>
      <td class="number">{told?.gclsn == null ? '–' : count(told.gclsn)}</td>
      {local === undefined ? (
        <td colSpan={5} class="absent">
          unreachable
        </td>
      ) : (
        <>
          <td>{local.build === 'Built' ? local.role : local.build}</td>
          <td>{local.canWrite ? 'yes' : 'no'}</td>
          <td>{local.canRead ? 'yes' : 'no'}</td>
          <td class="number">{progress(local.progress)}</td>
          <td class="number">{bytes(local.logBytes)}</td>
        </>
      )}
    </tr>
  );
}

function progress(value: { readonly epoch: number; readonly lsn: number } | null | undefined): string {
  return value == null ? '–' : `${value.epoch}:${count(value.lsn)}`;
}

function History({ entries }: { readonly entries: readonly KeptEntry[] }): JSX.Element {
  if (entries.length === 0) return <Empty>No changes since the partition-set was created.</Empty>;
  return (
    <ol class="history">
      {entries.toReversed().map(({ at, sentence }) => (
        <li key={`${at} ${sentence}`}>
          <time dateTime={at}>{at.replace('T', ' ').replace(/\.\d+Z$/, '')}</time>
          {sentence.startsWith(`${at}: `) ? sentence.slice(at.length + 2) : sentence}
        </li>
      ))}
    </ol>
  );
}
