/** Colours of the regions and of the page, for what is drawn on a canvas. They live in the style sheet, light and dark. */
import { useEffect, useReducer } from 'preact/hooks';

/** As many as the style sheet has; further regions begin anew, and have their letters. */
export const PALETTE = 8;

export function regionClass(region: number): string {
  return `region-${((region % PALETTE) + PALETTE) % PALETTE}`;
}

export interface Colours {
  readonly regions: readonly string[];
  readonly onRegions: readonly string[];
  readonly ink: string;
  readonly muted: string;
  readonly line: string;
  readonly surface: string;
  readonly nobody: string;
  readonly nobodyStripe: string;
  readonly unknown: string;
  readonly accent: string;
  readonly second: string;
}

let known: Colours | undefined;
const dark = matchMedia('(prefers-color-scheme: dark)');
// Also when nothing that is drawn is on the screen. It is registered before the listeners of what is drawn.
dark.addEventListener('change', () => (known = undefined));

export function colours(): Colours {
  if (known !== undefined) return known;
  const style = getComputedStyle(document.documentElement);
  const get = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const all = (name: string): string[] => Array.from({ length: PALETTE }, (_, at) => get(`${name}-${at}`));
  known = {
    regions: all('region'),
    onRegions: all('on-region'),
    ink: get('ink'),
    muted: get('muted'),
    line: get('line'),
    surface: get('surface'),
    nobody: get('nobody'),
    nobodyStripe: get('nobody-stripe'),
    unknown: get('unknown'),
    accent: get('accent'),
    second: get('second'),
  };
  return known;
}

/** A number that changes with the theme. */
export function useTheme(): number {
  const [version, changed] = useReducer((value: number) => value + 1, 0);
  useEffect(() => {
    const listener = (): void => changed(undefined);
    dark.addEventListener('change', listener);
    return () => dark.removeEventListener('change', listener);
  }, []);
  return version;
}
