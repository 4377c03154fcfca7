/** A process that replaces documents in an LMDB store by higher numbers until it is killed, and tells each write that was answered: `node lmdb-writer.mjs PATH`. */
import { writeSync } from 'node:fs';
import { LmdbStore } from 'baton/caspaxos';

const [path] = process.argv.slice(2);
const store = new LmdbStore(path);
const keys = Array.from({ length: 5 }, (_, at) => `register/${at}`);

for (;;) {
  const documents = await store.read(keys);
  const writes = keys.map((key, at) => ({
    key,
    text: String(Number(documents[at]?.text ?? 0) + 1),
    expected: documents[at]?.version,
  }));
  const results = await store.write(writes);
  for (const [at, { key, text }] of writes.entries())
    if (results[at].result === 'written') writeSync(1, `${JSON.stringify({ key, text })}\n`);
}
