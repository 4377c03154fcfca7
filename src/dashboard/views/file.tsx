/** Simulation results from a file, which is read in the browser and not uploaded. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { FileError, readResult, type ResultFile } from '../state/files.ts';
import { DuelResult } from './duel-result.tsx';
import { OutageResult } from './outage-result.tsx';
import { Card } from './parts.tsx';

export function FileView(): JSX.Element {
  const [result, setResult] = useState<ResultFile | undefined>(undefined);
  const [trouble, setTrouble] = useState('');
  const open = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    try {
      setResult(readResult(await file.text()));
      setTrouble('');
    } catch (error) {
      setResult(undefined);
      setTrouble(error instanceof FileError ? error.message : `The file cannot be read: ${String(error)}`);
    }
  };
  return (
    <>
      <h1>Open a file</h1>
      <Card title="Simulation result">
        <label
          class="drop"
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            void open(event.dataTransfer?.files[0]);
          }}
        >
          <input
            type="file"
            accept="application/json,.json"
            onChange={(event) => void open(event.currentTarget.files?.[0])}
          />
          <span>
            Choose or drop a file with the output of <code>baton sim outage --json</code> or{' '}
            <code>baton sim duel --json</code>. The file is read in this browser and is not uploaded.
          </span>
        </label>
        {trouble !== '' && (
          <p class="trouble" role="alert">
            {trouble}
          </p>
        )}
      </Card>
      {result?.kind === 'outage' && <OutageResult file={result} />}
      {result?.kind === 'duel' && <DuelResult file={result} />}
    </>
  );
}

export function Facts({ facts }: { readonly facts: readonly (readonly [string, string])[] }): JSX.Element {
  return (
    <dl class="pairs">
      {facts.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}
