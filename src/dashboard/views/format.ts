/** Numbers and moments as people read them. */

export function count(value: number): string {
  return value.toLocaleString('en');
}

export function percent(share: number | undefined): string {
  if (share === undefined || Number.isNaN(share)) return '–';
  if (share === 1) return '100 %';
  // What is not whole must not look whole.
  const digits = share > 0.9999 ? 4 : share > 0.99 ? 2 : 1;
  const factor = 10 ** digits;
  return `${(Math.floor(share * 100 * factor) / factor).toFixed(digits)} %`;
}

export function duration(ms: number | undefined): string {
  if (ms === undefined || Number.isNaN(ms)) return '–';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

const two = (value: number): string => `${value}`.padStart(2, '0');

export function clock(ms: number, withTenths = false): string {
  const date = new Date(ms);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return withTenths ? `${time}.${Math.floor(date.getMilliseconds() / 100)}` : time;
}

export function day(ms: number): string {
  const date = new Date(ms);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const units = ['KB', 'MB', 'GB', 'TB'];
  let unit = -1;
  let rest = value;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${rest < 10 ? rest.toFixed(1) : Math.round(rest)} ${units[unit]}`;
}

export function plural(value: number, one: string): string {
  return `${count(value)} ${one}${value === 1 ? '' : 's'}`;
}
