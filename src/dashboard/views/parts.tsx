/** Small parts that many views share. */
import type { ComponentChildren, JSX } from 'preact';
import { lettersFor } from '../state/letters.ts';
import { useStore } from '../store.ts';
import { regionClass } from './colours.ts';

export function Card(props: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly tools?: ComponentChildren;
  readonly class?: string;
}): JSX.Element {
  return (
    <section class={`card ${props.class ?? ''}`} aria-label={props.title}>
      <div class="card-head">
        <h2>{props.title}</h2>
        {props.tools}
      </div>
      {props.note !== undefined && <p class="note">{props.note}</p>}
      {props.children}
    </section>
  );
}

export function Tile(props: {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly detail?: ComponentChildren;
  readonly tone?: 'good' | 'bad' | 'warn' | undefined;
}): JSX.Element {
  return (
    <div class={`tile ${props.tone ?? ''}`}>
      <dt>{props.name}</dt>
      <dd>
        <strong>{props.value}</strong>
        {props.detail !== undefined && <small>{props.detail}</small>}
      </dd>
    </div>
  );
}

/** The region's colour and letter; with its name, or for one that stands beside it. */
export function RegionBadge({ name }: { readonly name: string | null }): JSX.Element {
  const { regions } = useStore().model.fleet;
  if (name === null) return <span class="region none">none</span>;
  const at = regions.indexOf(name);
  return (
    <span class="region">
      <i class={`swatch ${regionClass(at)}`} aria-hidden="true">
        {at === -1 ? '?' : lettersFor(regions)[at]}
      </i>
      {name}
    </span>
  );
}

/** Words first: the dot's colour only repeats them. */
export function Health(props: {
  readonly tone: 'good' | 'bad' | 'warn' | 'idle';
  readonly children: ComponentChildren;
}) {
  return (
    <span class={`health ${props.tone}`}>
      <i aria-hidden="true" />
      {props.children}
    </span>
  );
}

export function Scroll({
  children,
  label,
}: {
  readonly children: ComponentChildren;
  readonly label: string;
}) {
  return (
    // A region that scrolls must be reachable with the keyboard.
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}

export function Choice<T extends string | number>(props: {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [T, string])[];
  readonly onChange: (value: T) => void;
}): JSX.Element {
  return (
    <div class="choice" role="group" aria-label={props.label}>
      {props.options.map(([value, name]) => (
        <button
          type="button"
          key={value}
          aria-pressed={value === props.value}
          onClick={() => props.onChange(value)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}
