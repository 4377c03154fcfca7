/** Takes steps of the plan as fast as it can, tells each that is durable, and waits to be killed. Arguments: directory, seed. */
import { writeSync } from 'node:fs';
import { NodeStore, type PartitionStore } from 'baton/engine';
import { seededChoose } from 'baton/check';
import { actionOf, apply, LARGE, PARTITIONS, viewOf } from './plan.ts';

const IN_FLIGHT = 6;
/** In every third life, in the partition with large documents: more than the journal takes at once, and more while the database catches up. */
const MANY_IN_FLIGHT = 64;
const SMALL_JOURNAL_BYTES = 4 * 1024 * 1024;

const [directory, seed] = [process.argv[2]!, Number(process.argv[3])];
const choose = seededChoose(process.pid);
const isFlooded = choose(3) === 0;
const store = await NodeStore.open({
  directory,
  flushChanges: 20 + choose(200),
  flushMs: 5 + choose(50),
  flushPiece: 1 + choose(50),
  commitMs: 1 + choose(40),
  ...(choose(2) === 0 && { journalBytes: SMALL_JOURNAL_BYTES }),
});

function takeStep(name: string, partition: PartitionStore): void {
  const step = partition.notes.gclsn + 1;
  apply(partition, step, actionOf(seed, name, step, viewOf(partition)));
  partition.sync((error) => {
    if (error !== undefined) throw error;
    writeSync(1, `${name} ${step}\n`);
    // Half of them come while others are on their way to the disk.
    if (choose(2) === 0) takeStep(name, partition);
    else setImmediate(takeStep, name, partition);
  });
}

for (const name of PARTITIONS) {
  const partition = store.partition(name);
  const inFlight = isFlooded && name === LARGE ? MANY_IN_FLIGHT : IN_FLIGHT;
  for (let count = 0; count < inFlight; count += 1) takeStep(name, partition);
}
// Ends with its parent.
process.stdin.resume();
process.stdin.on('end', () => process.exit());
