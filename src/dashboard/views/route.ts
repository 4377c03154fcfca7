/** Where the page is: the part of the address after `#`. */
import { useEffect, useState } from 'preact/hooks';

export const VIEWS = [
  'fleet',
  'timeline',
  'availability',
  'recovery',
  'regions',
  'audit',
  'file',
  'set',
] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  /** Of the partition-set. */
  readonly name: string;
}

export function routeOf(hash: string): Route {
  const [, view = '', ...rest] = hash.replace(/^#/, '').split('/');
  const known = (VIEWS as readonly string[]).includes(view) ? (view as View) : 'fleet';
  return { view: known, name: safelyDecoded(rest.join('/')) };
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function setAddress(name: string): string {
  return `#/set/${encodeURIComponent(name)}`;
}

export function openSet(name: string): void {
  location.hash = setAddress(name);
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const listener = (): void => setRoute(routeOf(location.hash));
    addEventListener('hashchange', listener);
    return () => removeEventListener('hashchange', listener);
  }, []);
  return route;
}
