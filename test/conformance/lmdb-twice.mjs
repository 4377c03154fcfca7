/** Two stores on one path in one thread, one opened while the other is in the middle of a transaction: `node lmdb-twice.mjs PATH ROUNDS`. */
import { LmdbStore } from 'baton/caspaxos';

const [path, rounds] = process.argv.slice(2);
const first = new LmdbStore(path);
await first.write([{ key: 'counter', text: '0', expected: undefined }]);
for (let round = 0; round < Number(rounds); round += 1) {
  const [document] = await first.read(['counter']);
  const written = first.write([
    { key: 'counter', text: String(Number(document.text) + 1), expected: document.version },
  ]);
  // Until the transaction is in the hands of the other thread, and no longer.
  await new Promise((resolve) => setImmediate(resolve));
  const second = new LmdbStore(path);
  const [[result], [seen]] = [await written, await second.read(['counter'])];
  if (result.result !== 'written' || seen === undefined) throw new Error('the two do not see the same');
  await second.close();
}
const [document] = await first.read(['counter']);
await first.close();
process.stdout.write(`${document.text}\n`);
