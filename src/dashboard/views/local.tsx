/** On a local cluster: controls that inject and undo faults, and a load that shows their effect on writes. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LocalOrder, LocalProcess } from '../api.ts';
import { messageOf } from '../net/http.ts';
import { useEvery, useStore } from '../store.ts';
import { count, duration } from './format.ts';
import { Card, Health, RegionBadge } from './parts.tsx';

type Send = (order: LocalOrder) => Promise<void>;

export function LocalControls(): JSX.Element {
  const { local, role } = useEvery();
  const { cluster } = useStore();
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState('');
  const [cut, setCut] = useState<ReadonlySet<string>>(new Set());
  const send: Send = async (order) => {
    setBusy(true);
    setTrouble('');
    try {
      await cluster.order(order);
      setCut((before) => cutAfter(before, order));
    } catch (error) {
      setTrouble(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  if (local === undefined) return <></>;
  const nodes = local.processes.filter(({ role: kind }) => kind === 'node');
  const acceptors = local.processes.filter(({ role: kind }) => kind === 'acceptor');
  const regions = [...new Set(nodes.flatMap(({ region }) => region ?? []))];
  const isViewer = role !== 'operator';
  return (
    <Card title="Try it: break something" class="local">
      {isViewer && <p class="note">These controls require the operator token.</p>}
      <fieldset disabled={isViewer || busy}>
        <legend class="unseen">Local cluster</legend>
        <Load send={send} />
        <h3>Regions</h3>
        <ul class="controls">
          {regions.map((region) => (
            <li key={region}>
              <RegionBadge name={region} />
              <Controls
                name={region}
                state={stateOf(nodes.filter((node) => node.region === region))}
                canCut={local.canCut}
                isCut={cut.has(region)}
                send={send}
              />
            </li>
          ))}
        </ul>
        <details>
          <summary>Acceptors</summary>
          <ul class="controls">
            {acceptors.map(({ name, state }) => (
              <li key={name}>
                <span>{name}</span>
                <Controls name={name} state={state} canCut={local.canCut} isCut={cut.has(name)} send={send} />
              </li>
            ))}
          </ul>
        </details>
      </fieldset>
      {trouble !== '' && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
    </Card>
  );
}

function cutAfter(before: ReadonlySet<string>, { action, targets = [] }: LocalOrder): ReadonlySet<string> {
  if (action === 'cut') return new Set([...before, ...targets]);
  if (action === 'heal')
    return new Set([...before].filter((name) => targets.length > 0 && !targets.includes(name)));
  return before;
}

/** Of several, the worst. */
function stateOf(processes: readonly LocalProcess[]): string {
  const states = new Set(processes.map(({ state }) => state));
  return ['stopped', 'paused', 'starting'].find((state) => states.has(state)) ?? 'running';
}

function Controls(props: {
  readonly name: string;
  readonly state: string;
  readonly canCut: boolean;
  readonly isCut: boolean;
  readonly send: Send;
}): JSX.Element {
  const { name, state, canCut, isCut, send } = props;
  const button = (action: LocalOrder['action'], label: string, kind = '') => (
    <button
      type="button"
      class={`small ${kind}`}
      aria-label={`${label} ${name}`}
      onClick={() => void send({ action, targets: [name] })}
    >
      {label}
    </button>
  );
  if (state === 'starting') return <Health tone="warn">starting</Health>;
  if (state === 'stopped')
    return (
      <span class="buttons">
        <Health tone="bad">stopped</Health>
        {button('start', 'Start', 'primary')}
      </span>
    );
  return (
    <span class="buttons">
      {state === 'paused' && <Health tone="warn">paused</Health>}
      {isCut && <Health tone="warn">cut off</Health>}
      {state === 'paused' ? button('resume', 'Resume', 'primary') : button('pause', 'Pause')}
      {canCut && (isCut ? button('heal', 'Heal', 'primary') : button('cut', 'Cut off'))}
      {button('kill', 'Kill', 'danger')}
    </span>
  );
}

const RATES = [50, 200, 1000] as const;

function Load({ send }: { readonly send: Send }): JSX.Element {
  const load = useStore().model.local!.load;
  const [perSecond, setPerSecond] = useState<number>(load.perSecond > 0 ? load.perSecond : RATES[1]);
  const rates = [...new Set([...RATES, perSecond])].toSorted((a, b) => a - b);
  return (
    <div class="load">
      <div class="load-head">
        <h3>Load</h3>
        <label>
          <span class="unseen">Writes per second</span>
          <select
            value={perSecond}
            disabled={load.on}
            onChange={(event) => setPerSecond(Number(event.currentTarget.value))}
          >
            {rates.map((rate) => (
              <option key={rate} value={rate}>
                {count(rate)} writes/s
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          class={`small ${load.on ? '' : 'primary'}`}
          aria-pressed={load.on}
          onClick={() => void send({ action: 'load', on: !load.on, perSecond })}
        >
          {load.on ? 'Stop load' : 'Start load'}
        </button>
      </div>
      {(load.on || load.acknowledged > 0) && (
        <p class="note">
          <b>{count(load.acknowledged)}</b> writes acknowledged, <b>{count(load.failed)}</b> requests failed
          {load.on && (
            <>
              ; longest write gap in the last ten seconds <b>{duration(load.worstGapMs)}</b>
            </>
          )}
          .
        </p>
      )}
    </div>
  );
}
