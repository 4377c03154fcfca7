/** The frame around the views: where one is, and whether the page still hears the nodes. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useEvery, useSeen } from '../store.ts';
import { AuditView } from './audit.tsx';
import { AvailabilityView } from './availability.tsx';
import { FileView } from './file.tsx';
import { FleetView } from './fleet.tsx';
import { Health } from './parts.tsx';
import { RecoveryView } from './recovery.tsx';
import { RegionsView } from './regions.tsx';
import { type Route, useRoute, type View } from './route.ts';
import { SetView } from './set.tsx';
import { TimelineView } from './timeline.tsx';

const NAMES: readonly (readonly [View, string])[] = [
  ['fleet', 'Fleet'],
  ['timeline', 'Timeline'],
  ['availability', 'Availability'],
  ['recovery', 'Recovery'],
  ['regions', 'Regions'],
  ['audit', 'Audit'],
  ['file', 'Open a file'],
];

export function App({ onSignOut }: { readonly onSignOut: (() => void) | undefined }): JSX.Element {
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  const cluster = useSeen((model) => model.cluster);
  const isFirst = useRef(true);
  const title = route.view === 'set' ? route.name : NAMES.find(([view]) => view === route.view)![1];
  useEffect(() => {
    document.title = `${title} · ${cluster === '' ? 'Baton' : cluster}`;
  }, [title, cluster]);
  useEffect(() => {
    if (!isFirst.current) {
      main.current!.focus();
      scrollTo(0, 0);
    }
    isFirst.current = false;
  }, [route.view, route.name]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current!.focus())}>
        Skip to content
      </a>
      <header>
        <p class="brand">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <path class="baton" d="M8 24 24 8" />
            <path class="band" d="m14 18 4-4" />
          </svg>
          Baton <span>{cluster}</span>
        </p>
        <nav aria-label="Views">
          {NAMES.map(([view, name]) => (
            <a key={view} href={`#/${view}`} aria-current={isHere(route, view) ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <Connection onSignOut={onSignOut} />
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <Offline />
        <Shown route={route} />
      </main>
    </>
  );
}

function isHere({ view }: Route, name: View): boolean {
  return view === name || (view === 'set' && name === 'fleet');
}

function Shown({ route: { view, name } }: { readonly route: Route }): JSX.Element {
  switch (view) {
    case 'timeline':
      return <TimelineView />;
    case 'availability':
      return <AvailabilityView />;
    case 'recovery':
      return <RecoveryView />;
    case 'regions':
      return <RegionsView />;
    case 'audit':
      return <AuditView />;
    case 'file':
      return <FileView />;
    case 'set':
      return <SetView key={name} name={name} />;
    case 'fleet':
      return <FleetView />;
    default:
      return view satisfies never;
  }
}

function Connection({ onSignOut }: { readonly onSignOut: (() => void) | undefined }): JSX.Element {
  const model = useEvery();
  const nodes = [...model.nodes.values()];
  const live = nodes.filter(({ name }) => model.fleet.linkOf(name) === 'live').length;
  const tone = live === nodes.length ? 'good' : live === 0 ? 'bad' : 'warn';
  return (
    <div class="connection">
      <Health tone={tone}>
        {live} of {nodes.length} nodes
      </Health>
      <span class="role">{model.role}</span>
      {onSignOut !== undefined && (
        <button type="button" class="small quiet" onClick={onSignOut}>
          Sign out
        </button>
      )}
    </div>
  );
}

function Offline(): JSX.Element {
  const isOffline = useSeen(({ fleet, nodes }) => nodes.size > 0 && fleet.isSettled && !fleet.isOnline);
  if (!isOffline) return <></>;
  return (
    <p class="banner" role="alert">
      No node can be reached. The data shown may be out of date. The page reconnects automatically.
    </p>
  );
}
