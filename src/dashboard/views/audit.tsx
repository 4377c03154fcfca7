/** What operators did, merged from the nodes that can be reached. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AuditEntry } from '../api.ts';
import { messageOf } from '../net/http.ts';
import { useStore } from '../store.ts';
import { clock, day } from './format.ts';
import { Card, Empty, Health, Scroll } from './parts.tsx';

const EVERY_MS = 5000;
const ROWS = 200;

export function AuditView(): JSX.Element {
  const { cluster } = useStore();
  const [entries, setEntries] = useState<readonly (AuditEntry & { readonly node: string })[] | undefined>(
    undefined,
  );
  const [trouble, setTrouble] = useState('');
  useEffect(() => {
    const load = async (): Promise<void> => {
      try {
        setEntries(await cluster.audit());
        setTrouble('');
      } catch (error) {
        setTrouble(messageOf(error));
      }
    };
    void load();
    const timer = setInterval(() => void load(), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <h1>Audit</h1>
      <Card
        title="Operator actions"
        note="Each node records the actions that it received. Only nodes that can be reached are included."
      >
        {trouble !== '' && (
          <p class="trouble" role="alert">
            {trouble}
          </p>
        )}
        {entries === undefined && trouble === '' && <Empty>Loading …</Empty>}
        {entries?.length === 0 && <Empty>No operator actions yet.</Empty>}
        {entries !== undefined && entries.length > 0 && <Entries entries={entries.slice(0, ROWS)} />}
      </Card>
    </>
  );
}

function Entries({
  entries,
}: {
  readonly entries: readonly (AuditEntry & { readonly node: string })[];
}): JSX.Element {
  return (
    <Scroll label="Audit trail">
      <table>
        <thead>
          <tr>
            {['time', 'who', 'action', 'target', 'outcome', 'address', 'node'].map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={`${entry.node} ${entry.n}`}>
              <td title={day(Date.parse(entry.at))}>{clock(Date.parse(entry.at))}</td>
              <td>
                {entry.who ?? '–'} <span class="faint">({entry.role})</span>
              </td>
              <td>{wordsOf(entry)}</td>
              <td>{entry.target ?? '–'}</td>
              <td>
                <Outcome {...entry} />
              </td>
              <td class="faint">{entry.from}</td>
              <td class="faint">{entry.node}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Outcome({ outcome, code }: AuditEntry): JSX.Element {
  const tone = outcome === 'done' ? 'good' : outcome === 'begun' ? 'idle' : 'bad';
  return (
    <Health tone={tone}>
      {outcome}
      {code !== null && ` (${code})`}
    </Health>
  );
}

/** What was asked, in a few words; the whole is in the node's file. */
function wordsOf({ action, target, detail }: AuditEntry): string {
  const asked = isFields(detail['intent']) ? detail['intent'] : detail;
  const targets = Array.isArray(asked['targets']) ? asked['targets'].join(', ') : '';
  return [
    text(asked['kind']) || text(asked['action']) || action,
    asked['on'] === true ? 'on' : asked['on'] === false ? 'off' : '',
    // What stands in the next column need not stand here.
    text(asked['target']) || (targets === target ? '' : targets),
    detail['dryRun'] === true ? '(dry run)' : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
