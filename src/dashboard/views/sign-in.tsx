/** Asks for a token. Until a valid one is given, the page shows nothing else. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

export function SignIn({
  trouble,
  onToken,
}: {
  readonly trouble: string;
  readonly onToken: (token: string) => void;
}): JSX.Element {
  const [token, setToken] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    if (token.trim() !== '') onToken(token.trim());
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <h1>Baton</h1>
        <p>
          This cluster requires a token. The viewer token shows everything; the operator token also allows
          actions.
        </p>
        <label>
          Token
          <input
            type="password"
            autoComplete="off"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        {trouble !== '' && (
          <p class="trouble" role="alert">
            {trouble}
          </p>
        )}
        <button type="submit" class="primary">
          Sign in
        </button>
        <p class="note">
          <code>baton up</code> prints an address that contains the operator token. The token is kept in this
          tab only.
        </p>
      </form>
    </main>
  );
}
