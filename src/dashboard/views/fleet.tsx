/** The start page: the state of the fleet, the latest changes and, on a local cluster, controls that inject faults. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { shareOver } from '../state/availability.ts';
import { lettersFor } from '../state/letters.ts';
import type { Recovery } from '../state/recovery.ts';
import { percentile, sorted } from '../state/statistics.ts';
import { useEvery, useRarely, useSeen, useStore } from '../store.ts';
import { AvailabilityChart } from './availability.tsx';
import { regionClass } from './colours.ts';
import { count, duration, percent, plural } from './format.ts';
import { HeatMap } from './heat-map.tsx';
import { LocalControls } from './local.tsx';
import { Card, Tile } from './parts.tsx';
import { openSet } from './route.ts';
import { ChangeList } from './timeline.tsx';

const TEN_MINUTES = 600_000;

export function FleetView(): JSX.Element {
  const isLocal = useSeen((model) => model.isLocal && model.local !== undefined);
  return (
    <>
      <h1 class="unseen">Fleet</h1>
      <Tiles />
      <div class="columns">
        <div class="wide">
          <Card title="Partition-sets by write region" tools={<Find />}>
            <Legend />
            <HeatMap />
          </Card>
          <Card
            title="Write availability"
            note="Share of writable partition-sets by region over the last two minutes."
          >
            <AvailabilityChart minutes={2} height={170} />
          </Card>
        </div>
        <div class="narrow">
          {isLocal && <LocalControls />}
          <Card title="Latest changes" tools={<a href="#/timeline">All</a>} class="latest">
            <ChangeList most={6} isShort />
          </Card>
        </div>
      </div>
    </>
  );
}

function Tiles(): JSX.Element {
  const { fleet, availability, recoveries, nodes } = useEvery();
  const { total, nobody, unknown, moving } = fleet.counts;
  const known = total - unknown;
  const writes = [...nodes.values()].reduce((sum, { beat }) => sum + (beat?.writesPerSecond ?? 0), 0);
  const share = useRarely(
    () => shareOver(availability.samples, Date.now() - TEN_MINUTES),
    availability.last?.at ?? 0,
  );
  const isLong = (availability.samples[0]?.at ?? Infinity) <= Date.now() - TEN_MINUTES;
  const median = useRarely(() => medianOf(recoveries.recoveries), recoveries.count);
  const { failover } = recoveries.seen;
  return (
    <dl class="tiles">
      <Tile name="Partition-sets" value={count(total)} detail={plural(fleet.regions.length, 'region')} />
      <Tile
        name="Writable"
        value={known === 0 ? '–' : percent((known - nobody) / known)}
        detail={nobody === 0 ? 'all partition-sets' : `${count(nobody)} not writable`}
        tone={known === 0 ? undefined : nobody > 0 ? 'bad' : 'good'}
      />
      <Tile
        name="Moving"
        value={count(moving)}
        detail={moving > 0 ? 'between regions' : nobody > 0 ? 'failover pending' : 'no move in progress'}
        tone={moving > 0 ? 'warn' : undefined}
      />
      <Tile
        name="Write availability"
        value={percent(share)}
        detail={isLong ? 'last ten minutes' : 'since page load'}
      />
      <Tile
        name="Failovers"
        value={count(failover)}
        detail={failover === 0 ? 'none observed' : `median ${duration(median)}`}
      />
      <Tile name="Writes per second" value={count(Math.round(writes))} detail="all regions" />
    </dl>
  );
}

function medianOf(recoveries: readonly Recovery[]): number {
  const failovers = recoveries.filter(({ kind }) => kind === 'failover');
  return percentile(sorted(failovers.map(({ recoveryMs }) => recoveryMs)), 0.5);
}

function Legend(): JSX.Element {
  const { fleet } = useEvery();
  const { writable, nobody, moving } = fleet.counts;
  const letters = lettersFor(fleet.regions);
  return (
    <ul class="legend">
      {fleet.regions.map((name, at) => (
        <li key={name}>
          <i class={`swatch ${regionClass(at)}`} aria-hidden="true">
            {letters[at]}
          </i>
          {name} <b>{count(writable[at]!)}</b>
        </li>
      ))}
      <li>
        <i class="swatch nobody" aria-hidden="true" />
        not writable <b>{count(nobody)}</b>
      </li>
      <li>
        <i class="swatch moving" aria-hidden="true" />
        moving <b>{count(moving)}</b>
      </li>
    </ul>
  );
}

const MOST_FOUND = 30;

/** Opens a partition-set by name, for users who know it or cannot see the map. */
function Find(): JSX.Element {
  const { fleet } = useStore().model;
  const [text, setText] = useState('');
  const found =
    text === '' ? [] : fleet.sets.filter((set) => set?.name.includes(text) === true).slice(0, MOST_FOUND);
  const go = (event: Event): void => {
    event.preventDefault();
    const name = fleet.find(text)?.name ?? found[0]?.name;
    if (name !== undefined) openSet(name);
  };
  return (
    <form class="find" role="search" onSubmit={go}>
      <input
        type="search"
        list="found-sets"
        placeholder="Find a partition-set"
        aria-label="Find a partition-set by name"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          if (
            fleet.find(event.currentTarget.value) !== undefined &&
            'inputType' in event &&
            event.inputType === undefined
          )
            openSet(event.currentTarget.value);
        }}
      />
      <datalist id="found-sets">
        {found.map((set) => (
          <option key={set!.name} value={set!.name} />
        ))}
      </datalist>
    </form>
  );
}
