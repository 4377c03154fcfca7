/** What an operator can do to a partition-set. Every intent is first sent as a dry run, and its changes are shown for confirmation. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Intent, SetDetail, StateChange } from '../api.ts';
import { messageOf } from '../net/http.ts';
import { useSeen, useStore } from '../store.ts';
import { Card } from './parts.tsx';

interface Plan {
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
  const [plan, setPlan] = useState<Plan | undefined>(undefined);
  const [target, setTarget] = useState('');
  const others = detail.configuration.priorities.filter((name) => name !== detail.writeRegion);
  const chosen = others.includes(target) ? target : (others[0] ?? '');
  const close = (): void => {
    setPlan(undefined);
    onDone();
  };
  return (
    <Card title="Actions">
      {!isOperator && (
        <p class="note">These actions require the operator token. You are signed in as a viewer.</p>
      )}
      <fieldset class="actions" disabled={!isOperator}>
        <legend class="unseen">Actions</legend>
        <label>
          Target{' '}
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
          onClick={() => setPlan(switchover(chosen))}
        >
          Switch over …
        </button>
        <button
          type="button"
          class="danger"
          disabled={chosen === ''}
          onClick={() => setPlan(failover(chosen))}
        >
          Force failover …
        </button>
        <button type="button" onClick={() => setPlan(detail.pausedAutomatic ? RESUME : PAUSE)}>
          {detail.pausedAutomatic ? 'Resume automatic failover …' : 'Pause automatic failover …'}
        </button>
        {detail.pin !== null && (
          <button type="button" onClick={() => setPlan(UNPIN)}>
            Allow failback …
          </button>
        )}
      </fieldset>
      {plan !== undefined && (
        <Confirm name={detail.partitionSet} gcn={detail.gcn} plan={plan} onClose={close} />
      )}
    </Card>
  );
}

function switchover(target: string): Plan {
  return {
    title: `Switch over to ${target}`,
    words: `Writes move to ${target}. The current write region first finishes the writes that it has accepted, so none are lost. New writes wait for a moment.`,
    intent: { kind: 'switchover', target },
  };
}

function failover(target: string): Plan {
  return {
    title: `Force failover to ${target}`,
    words: `The current write region is fenced at once and ${target} is elected. Writes that only the old region holds may be undone; they are kept as lost writes. Use this when the region is gone and Baton has not detected it.`,
    intent: { kind: 'failover', target },
    isDangerous: true,
  };
}

const PAUSE: Plan = {
  title: 'Pause automatic failover',
  words:
    'If the write region fails, no other region is elected. Writes stay unavailable until an operator resumes automatic failover or forces one.',
  intent: { kind: 'pause' },
  isDangerous: true,
};

const RESUME: Plan = {
  title: 'Resume automatic failover',
  words: 'If the write region fails, another region is elected automatically.',
  intent: { kind: 'resume' },
};

const UNPIN: Plan = {
  title: 'Allow failback',
  words:
    'Writes are no longer pinned to the region that an operator chose and may move back to the preferred region.',
  intent: { kind: 'unpin' },
};

function Confirm(props: {
  readonly name: string;
  readonly gcn: number;
  readonly plan: Plan;
  readonly onClose: () => void;
}): JSX.Element {
  const { name, gcn, plan, onClose } = props;
  const { cluster } = useStore();
  const dialog = useRef<HTMLDialogElement>(null);
  const [changes, setChanges] = useState<readonly StateChange[] | undefined>(undefined);
  const [trouble, setTrouble] = useState('');
  const [isSending, setSending] = useState(false);
  useEffect(() => {
    dialog.current!.showModal();
    cluster.tryIntent(name, plan.intent, gcn).then(setChanges, (error: Error) => setTrouble(error.message));
  }, []);
  const send = async (): Promise<void> => {
    setSending(true);
    try {
      await cluster.intend(name, plan.intent, gcn);
      onClose();
    } catch (error) {
      setTrouble(messageOf(error));
    } finally {
      setSending(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onClose={onClose}>
      <h2 id="confirm-title">{plan.title}</h2>
      <p>
        <b>{name}</b>. {plan.words}
      </p>
      <h3>What would change</h3>
      {changes === undefined && trouble === '' && <p class="note">Performing a dry run …</p>}
      {changes !== undefined && <Changes changes={changes} />}
      {trouble !== '' && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
      <p class="dialog-buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class={plan.isDangerous === true ? 'danger solid' : 'primary'}
          disabled={changes === undefined || isSending}
          onClick={() => void send()}
        >
          {plan.title}
        </button>
      </p>
    </dialog>
  );
}

/** Bookkeeping that tells nobody anything. */
const UNTOLD = /^(?:step|minReader|schema|history|recent|damping)/;

function Changes({ changes }: { readonly changes: readonly StateChange[] }): JSX.Element {
  const told = changes.filter(({ field }) => !UNTOLD.test(field));
  if (told.length === 0)
    return (
      <p class="note">No immediate change. The intent is recorded and carried out as soon as possible.</p>
    );
  return (
    <table class="diff">
      <thead>
        <tr>
          <th scope="col">field</th>
          <th scope="col">current</th>
          <th scope="col">new</th>
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
  open: 'open intents',
  writer: 'write region',
  gcn: 'GCN',
  paused: 'automatic failover paused',
  pin: 'pinned to',
};

const LONGEST = 90;

function inWords(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(inWords).join(', ');
  if (isIntent(value)) return value.target === undefined ? value.kind : `${value.kind} to ${value.target}`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)} …`;
}

function isIntent(value: unknown): value is { readonly kind: string; readonly target?: string } {
  return typeof value === 'object' && value !== null && 'kind' in value && 'id' in value;
}
