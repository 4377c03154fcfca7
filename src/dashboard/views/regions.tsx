/** Regions with their nodes, and acceptors as each node sees them. */
import type { JSX } from 'preact';
import type { Fleet, Link } from '../state/fleet.ts';
import type { Model, NodeInfo } from '../state/model.ts';
import { useEvery, useRarely } from '../store.ts';
import { bytes, count, duration } from './format.ts';
import { Card, Empty, Health, RegionBadge, Scroll } from './parts.tsx';

export function RegionsView(): JSX.Element {
  const model = useEvery();
  const nodes = [...model.nodes.values()];
  return (
    <>
      <h1>Regions and acceptors</h1>
      <div class="cards">
        {model.fleet.regions.map((region, at) => (
          <RegionCard key={region} model={model} region={region} at={at} />
        ))}
      </div>
      <Card
        title="Acceptors"
        note="Whether each node reaches them. A majority of the acceptors must answer before any state can change."
      >
        <AcceptorTable nodes={nodes} />
      </Card>
      <Card
        title="Latency between regions"
        note="Round-trip time from the node in the row to the nodes of the region in the column."
      >
        <PeerTable nodes={nodes} regions={model.fleet.regions} />
      </Card>
    </>
  );
}

function RegionCard({
  model,
  region,
  at,
}: {
  readonly model: Model;
  readonly region: string;
  readonly at: number;
}): JSX.Element {
  const { fleet } = model;
  const nodes = [...model.nodes.values()].filter((node) => node.region === region);
  const { copies, readable, lag } = useRarely(() => copiesIn(fleet, at), Date.now());
  return (
    <section class="card region-card" aria-label={`Region ${region}`}>
      <h2>
        <RegionBadge name={region} />
      </h2>
      <dl class="pairs">
        <dt>write region of</dt>
        <dd>
          <b>{count(fleet.counts.writable[at]!)}</b> of {count(fleet.counts.total)}
        </dd>
        <dt>readable</dt>
        <dd>{count(readable)}</dd>
        <dt>largest lag, in entries</dt>
        <dd>{copies === 0 ? '–' : count(lag)}</dd>
      </dl>
      {nodes.map((node) => (
        <NodeRow key={node.name} node={node} link={fleet.linkOf(node.name)} />
      ))}
    </section>
  );
}

/** How many it has, how many of them can be read, and by how many entries the slowest is behind its writer. */
function copiesIn(
  { sets }: Fleet,
  region: number,
): { readonly copies: number; readonly readable: number; readonly lag: number } {
  let [copies, readable, lag] = [0, 0, 0];
  for (const set of sets) {
    const row = set?.rows[region];
    if (set === undefined || row === undefined) continue;
    copies += 1;
    readable += row[6];
    const writers = set.rows[set.writable];
    if (writers !== undefined) lag = Math.max(lag, writers[12] - row[12]);
  }
  return { copies, readable, lag };
}

function NodeRow({ node, link }: { readonly node: NodeInfo; readonly link: Link }): JSX.Element {
  const { beat } = node;
  const isReady = beat?.readiness.status === 'ok';
  return (
    <div class="node">
      <p>
        <b>{node.name}</b>
        {link === 'lost' && <Health tone="bad">unreachable</Health>}
        {link === 'connecting' && <Health tone="idle">connecting</Health>}
        {link === 'live' && (
          <Health tone={isReady ? 'good' : 'warn'}>
            {isReady ? 'ready' : (beat?.readiness.status ?? 'connected')}
          </Health>
        )}
      </p>
      {link === 'lost' && <p class="note">{node.trouble}</p>}
      {beat?.readiness.reasons.map((why) => (
        <p class="note" key={why}>
          {why}
        </p>
      ))}
      {beat !== undefined && (
        <p class="facts">
          <span>up {duration(beat.uptimeMs)}</span>
          <span>{count(Math.round(beat.writesPerSecond))} writes/s</span>
          <span>{count(Math.round(beat.readsPerSecond))} reads/s</span>
          <span>{Math.round(beat.cpu * 100)} % of a core</span>
          <span>{bytes(beat.rssBytes)}</span>
        </p>
      )}
    </div>
  );
}

function AcceptorTable({ nodes }: { readonly nodes: readonly NodeInfo[] }): JSX.Element {
  const speaking = nodes.filter(({ beat }) => beat !== undefined);
  const names = [...new Set(speaking.flatMap(({ beat }) => beat!.acceptors.map(({ name }) => name)))];
  if (names.length === 0) return <Empty>No node has reported its acceptors yet.</Empty>;
  return (
    <Scroll label="Acceptors">
      <table>
        <thead>
          <tr>
            <th scope="col">acceptor</th>
            {speaking.map(({ name }) => (
              <th scope="col" key={name}>
                from {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {speaking.map((node) => {
                const seen = node.beat!.acceptors.find((acceptor) => acceptor.name === name);
                return (
                  <td key={node.name}>
                    {seen === undefined ? '–' : <Reached state={seen.state} rttMs={seen.rttMs} />}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Reached({ state, rttMs }: { readonly state: string; readonly rttMs: number | null }): JSX.Element {
  const tone = state === 'up' ? 'good' : state === 'down' ? 'bad' : 'idle';
  return (
    <Health tone={tone}>
      {state}
      {state === 'up' && rttMs !== null && <span class="rtt">{milliseconds(rttMs)}</span>}
    </Health>
  );
}

function milliseconds(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}

function PeerTable({
  nodes,
  regions,
}: {
  readonly nodes: readonly NodeInfo[];
  readonly regions: readonly string[];
}): JSX.Element {
  return (
    <Scroll label="Latency between regions">
      <table>
        <thead>
          <tr>
            <th scope="col">from</th>
            {regions.map((region) => (
              <th scope="col" key={region}>
                to {region}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <tr key={node.name}>
              <th scope="row">{node.name}</th>
              {regions.map((region) => {
                const peers = node.beat?.peers.filter((peer) => peer.region === region) ?? [];
                return (
                  <td key={region}>
                    {peers.length === 0
                      ? '–'
                      : peers.map((peer) => (
                          <Reached key={peer.node} state={peer.isUp ? 'up' : 'down'} rttMs={peer.rttMs} />
                        ))}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
