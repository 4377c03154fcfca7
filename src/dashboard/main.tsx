/** Where the page begins: the token, the first node's map, and then the views. */
import { type JSX, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Cluster } from './net/cluster.ts';
import { ApiError } from './net/http.ts';
import { forgetToken, rememberToken, takeToken } from './net/session.ts';
import { Model } from './state/model.ts';
import { Store, StoreContext } from './store.ts';
import { App } from './views/app.tsx';
import { SignIn } from './views/sign-in.tsx';

type Stage =
  | { readonly is: 'opening'; readonly trouble: string }
  | { readonly is: 'refused'; readonly trouble: string }
  | { readonly is: 'open'; readonly store: Store };

const AGAIN_MS = 2000;

function Root(): JSX.Element {
  const [token, setToken] = useState(takeToken);
  const [stage, setStage] = useState<Stage>({ is: 'opening', trouble: '' });
  useEffect(() => open(token, setStage), [token]);
  const signIn = (given: string): void => {
    rememberToken(given);
    setStage({ is: 'opening', trouble: '' });
    // The same one again is tried again too.
    setToken(undefined);
    setTimeout(() => setToken(given));
  };
  /** Without loading anything anew: the node that served the page may be gone. */
  const signOut = (store: Store): void => {
    store.cluster.stop();
    forgetToken();
    setStage({ is: 'refused', trouble: '' });
  };
  if (stage.is === 'refused') return <SignIn trouble={stage.trouble} onToken={signIn} />;
  if (stage.is === 'opening')
    return <p class="opening">{stage.trouble === '' ? 'Connecting to the node …' : stage.trouble}</p>;
  return (
    <StoreContext.Provider value={stage.store}>
      <App onSignOut={token === undefined ? undefined : () => signOut(stage.store)} />
    </StoreContext.Provider>
  );
}

/** Returns how to end it. */
function open(token: string | undefined, onStage: (stage: Stage) => void): () => void {
  let isOver = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const refused = (error: ApiError): void => {
    if (isOver) return;
    store.cluster.stop();
    forgetToken();
    onStage({ is: 'refused', trouble: token === undefined ? '' : error.message });
  };
  const model = new Model();
  const store = new Store(model, (onChange) => new Cluster({ model, token, onChange, onRefused: refused }));
  const begin = async (): Promise<void> => {
    try {
      await store.cluster.start();
      if (isOver) store.cluster.stop();
      else onStage({ is: 'open', store });
    } catch (error) {
      if (isOver) return;
      const reason = error instanceof ApiError ? error : new ApiError(0, 'FAILED', String(error));
      if (reason.status === 401 || reason.status === 403) return refused(reason);
      onStage({ is: 'opening', trouble: `${reason.message} Retrying …` });
      timer = setTimeout(() => void begin(), AGAIN_MS);
    }
  };
  void begin();
  return () => {
    isOver = true;
    clearTimeout(timer);
    store.cluster.stop();
  };
}

render(<Root />, document.getElementById('page')!);
