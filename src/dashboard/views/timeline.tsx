/** Failovers and planned moves, the latest first. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type ChangeGroup, headline, reason, toneOf } from '../state/timeline.ts';
import { useSeen, useStore } from '../store.ts';
import { clock, count, day, duration, plural } from './format.ts';
import { Card, Empty } from './parts.tsx';
import { setAddress } from './route.ts';

const SIGNS = { loss: '×', gain: '✓', plan: '→', note: '·' } as const;
const PAGE = 60;
const SETS_SHOWN = 60;

export function TimelineView(): JSX.Element {
  const [most, setMost] = useState(PAGE);
  const all = useSeen(({ timeline }) => timeline.groups.length);
  return (
    <>
      <h1>Timeline</h1>
      <Card
        title="Failovers and planned moves"
        note="Changes of the same kind within a second of each other are grouped."
      >
        <ChangeList most={most} />
        {all > most && (
          <button type="button" onClick={() => setMost(most + PAGE)}>
            Show earlier changes
          </button>
        )}
      </Card>
    </>
  );
}

export function ChangeList({
  most,
  isShort = false,
}: {
  readonly most: number;
  readonly isShort?: boolean;
}): JSX.Element {
  const { timeline } = useStore().model;
  useSeen((model) => model.timeline.count);
  const groups = timeline.groups.slice(0, most);
  return (
    <>
      <Announcer />
      {groups.length === 0 && <Empty>No changes yet.</Empty>}
      <ol class={`changes ${isShort ? 'short' : ''}`}>
        {groups.map((group) => (
          <Change key={group.id} group={group} isShort={isShort} />
        ))}
      </ol>
    </>
  );
}

function Change({ group, isShort }: { readonly group: ChangeGroup; readonly isShort: boolean }): JSX.Element {
  const tone = toneOf(group);
  const { changes, fromMs, untilMs } = group;
  const many = changes.length > 1;
  const spread = untilMs - fromMs >= 100 ? ` · within ${duration(untilMs - fromMs)}` : '';
  return (
    <li class={`tone-${tone}`}>
      <i class="sign" aria-hidden="true">
        {SIGNS[tone]}
      </i>
      <div>
        <p class="what">
          {headline(group)}
          {many && <span class="many">{count(changes.length)}×</span>}
        </p>
        <p class="why">
          {reason(group)}
          {many ? spread : ''}
          {!many && (
            <>
              {' · '}
              <a href={setAddress(changes[0]!.partitionSet)}>{changes[0]!.partitionSet}</a>
            </>
          )}
        </p>
        {many && !isShort && <SetLinks group={group} />}
      </div>
      <time dateTime={new Date(untilMs).toISOString()} title={day(untilMs)}>
        {clock(untilMs)}
      </time>
    </li>
  );
}

/** Made only when somebody opens it: there may be thousands. */
function SetLinks({ group: { changes } }: { readonly group: ChangeGroup }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const names = isOpen ? [...new Set(changes.map(({ partitionSet }) => partitionSet))] : [];
  const rest = names.length - SETS_SHOWN;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{plural(changes.length, 'partition-set')}</summary>
      {isOpen && (
        <p class="names">
          {names.slice(0, SETS_SHOWN).map((name) => (
            <a key={name} href={setAddress(name)}>
              {name}
            </a>
          ))}
          {rest > 0 && ` and ${count(rest)} more`}
        </p>
      )}
    </details>
  );
}

const SPOKEN_EVERY_MS = 2000;

/** Announces the latest change to screen readers, at most every two seconds. */
function Announcer(): JSX.Element {
  const { timeline } = useStore().model;
  const [text, setText] = useState('');
  useEffect(() => {
    let said = timeline.groups[0]?.id;
    const timer = setInterval(() => {
      const latest = timeline.groups[0];
      if (latest === undefined || latest.id === said) return;
      said = latest.id;
      setText(`${headline(latest)}: ${reason(latest)}. ${plural(latest.changes.length, 'partition-set')}.`);
    }, SPOKEN_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="unseen" role="status" aria-live="polite">
      {text}
    </p>
  );
}
