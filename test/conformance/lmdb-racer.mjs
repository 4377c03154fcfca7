/** A process that increments a counter in an LMDB store by compare-and-swap: `node lmdb-racer.mjs PATH TIMES`. */
import { LmdbStore } from 'baton/caspaxos';

const [path, times] = process.argv.slice(2);
const store = new LmdbStore(path);
let conflicts = 0;
process.stdin.once('data', () => void race());
process.stdout.write('ready\n');

async function race() {
  for (let done = 0; done < Number(times);) {
    const [document] = await store.read(['counter']);
    const text = String(Number(document.text) + 1);
    const [result] = await store.write([{ key: 'counter', text, expected: document.version }]);
    if (result.result === 'written') done += 1;
    else conflicts += 1;
  }
  await store.close();
  process.stdout.write(`${JSON.stringify({ done: Number(times), conflicts })}\n`);
  process.exit(0);
}
