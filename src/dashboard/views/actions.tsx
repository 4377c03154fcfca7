/** What an operator can do to a partition-set. Every wish is tried first, and what would change is shown before it is sent. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Intent, SetDetail, StateChange } from '../api.ts';
import { messageOf } from '../net/http.ts';
import { useSeen, useStore } from '../store.ts';
import { Card } from './parts.tsx';

interface Wish {
  readonly title: string;
  readonly words: string;
  readonly intent: Intent;
  readonly isDangerous?: boolean;
}

export function SetActions({
  detail,
  onDone,
}: {
  readonly detail: SetDetail;
  readonly onDone: () => void;
}): JSX.Element {
  const isOperator = useSeen((model) => model.role === 'operator');
  const [wish, setWish] = useState<Wish | undefined>(undefined);
  const [target, setTarget] = useState('');
  const others = detail.configuration.priorities.filter((name) => name !== detail.writeRegion);
  const chosen = others.includes(target) ? target : (others[0] ?? '');
  const close = (): void => {
    setWish(undefined);
    onDone();
  };
  return (
    <Card title="Actions">
      {!isOperator && <p class="note">These need the operator's token; you have a viewer's.</p>}
      <fieldset class="actions" disabled={!isOperator}>
        <legend class="unseen">Actions</legend>
        <label>
          to{' '}
          <select value={chosen} onChange={(event) => setTarget(event.currentTarget.value)}>
            {others.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <button
          type="button"
          class="primary"
          disabled={chosen === ''}
          onClick={() => setWish(switchover(chosen))}
        >
          Switch over …
        </button>
        <button
          type="button"
          class="danger"
          disabled={chosen === ''}
          onClick={() => setWish(failover(chosen))}
        >
          Force a failover …
        </button>
        <button type="button" onClick={() => setWish(detail.pausedAutomatic ? RESUME : PAUSE)}>
          {detail.pausedAutomatic ? 'Resume automatic failover …' : 'Pause automatic failover …'}
        </button>
        {detail.pin !== null && (
          <button type="button" onClick={() => setWish(UNPIN)}>
            Let it fail back …
          </button>
        )}
      </fieldset>
      {wish !== undefined && (
        <Confirm name={detail.partitionSet} gcn={detail.gcn} wish={wish} onClose={close} />
      )}
    </Card>
  );
}

function switchover(target: string): Wish {
  return {
    title: `Switch over to ${target}`,
    words: `The writes move to ${target} as planned: the present write region finishes what it has, and nothing is lost. Writes wait for a moment.`,
    intent: { kind: 'switchover', target },
  };
}

function failover(target: string): Wish {
  return {
    title: `Force a failover to ${target}`,
    words: `The present write region is cut off at once and ${target} is elected. Writes that only the old region has may be undone; they are kept as lost writes. Use it when the region is gone and Baton does not see that.`,
    intent: { kind: 'failover', target },
    isDangerous: true,
  };
}

const PAUSE: Wish = {
  title: 'Pause automatic failover',
  words:
    'Nothing moves by itself any more: if the write region dies, writes stay away until somebody resumes it or forces a failover.',
  intent: { kind: 'pause' },
  isDangerous: true,
};

const RESUME: Wish = {
  title: 'Resume automatic failover',
  words: 'A write region that dies is replaced by itself again.',
  intent: { kind: 'resume' },
};

const UNPIN: Wish = {
  title: 'Let it fail back',
  words: 'The writes are no longer held where an operator put them, and may move to the preferred region.',
  intent: { kind: 'unpin' },
};

function Confirm(props: {
  readonly name: string;
  readonly gcn: number;
  readonly wish: Wish;
  readonly onClose: () => void;
}): JSX.Element {
  const { name, gcn, wish, onClose } = props;
  const { cluster } = useStore();
  const dialog = useRef<HTMLDialogElement>(null);
  const [changes, setChanges] = useState<readonly StateChange[] | undefined>(undefined);
  const [trouble, setTrouble] = useState('');
  const [isSending, setSending] = useState(false);
  useEffect(() => {
    dialog.current!.showModal();
    cluster.tryIntent(name, wish.intent, gcn).then(setChanges, (error: Error) => setTrouble(error.message));
  }, []);
  const send = async (): Promise<void> => {
    setSending(true);
    try {
      await cluster.intend(name, wish.intent, gcn);
      onClose();
    } catch (error) {
      setTrouble(messageOf(error));
    } finally {
      setSending(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onClose={onClose}>
      <h2 id="confirm-title">{wish.title}</h2>
      <p>
        <b>{name}</b>. {wish.words}
      </p>
      <h3>What would change</h3>
      {changes === undefined && trouble === '' && <p class="note">Trying it without doing it …</p>}
      {changes !== undefined && <Changes changes={changes} />}
      {trouble !== '' && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
      <p class="dialog-buttons">
        <button type="button" onClick={onClose}>
          Leave it
        </button>
        <button
          type="button"
          class={wish.isDangerous === true ? 'danger solid' : 'primary'}
          disabled={changes === undefined || isSending}
          onClick={() => void send()}
        >
          {wish.title}
        </button>
      </p>
    </dialog>
  );
}

/** Bookkeeping that tells nobody anything. */
const UNTOLD = /^(?:step|minReader|schema|history|recent|damping)/;

function Changes({ changes }: { readonly changes: readonly StateChange[] }): JSX.Element {
  const told = changes.filter(({ field }) => !UNTOLD.test(field));
  if (told.length === 0) return <p class="note">Nothing at once: it is noted, and done when it can be.</p>;
  return (
    <table class="diff">
      <thead>
        <tr>
          <th scope="col">field</th>
          <th scope="col">now</th>
          <th scope="col">then</th>
        </tr>
      </thead>
      <tbody>
        {told.map(({ field, from, to }) => (
          <tr key={field}>
            <th scope="row">{FIELDS[field] ?? field}</th>
            <td>{inWords(from)}</td>
            <td>{inWords(to)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const FIELDS: Readonly<Record<string, string>> = {
  open: 'open wishes',
  writer: 'write region',
  gcn: 'GCN',
  paused: 'automatic failover paused',
  pin: 'held in',
};

const LONGEST = 90;

function inWords(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(inWords).join(', ');
  if (isWish(value)) return value.target === undefined ? value.kind : `${value.kind} to ${value.target}`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)} …`;
}

function isWish(value: unknown): value is { readonly kind: string; readonly target?: string } {
  return typeof value === 'object' && value !== null && 'kind' in value && 'id' in value;
}
