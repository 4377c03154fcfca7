/** The token of this tab. It arrives in the address's fragment, which browsers send to nobody, and leaves it at once. */

const KEY = 'baton-token';

export function takeToken(): string | undefined {
  const given = /^#token=([^&]+)/.exec(location.hash)?.[1];
  if (given !== undefined) {
    rememberToken(decodeURIComponent(given));
    history.replaceState(null, '', `${location.pathname}#/`);
  }
  return sessionStorage.getItem(KEY) ?? undefined;
}

export function rememberToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEY);
}
