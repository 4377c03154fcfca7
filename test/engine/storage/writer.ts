/** Takes steps of the plan as fast as it can, tells each that is durable, and waits to be killed. Arguments: directory, seed. */
import { writeSync } from 'node:fs';
import { NodeStore, type PartitionStore } from 'baton/engine';
import { seededChoose } from 'baton/check';
import { actionOf, apply, PARTITIONS, viewOf } from './plan.ts';

const IN_FLIGHT = 6;

const [directory, seed] = [process.argv[2]!, Number(process.argv[3])];
const choose = seededChoose(process.pid);
const store = await NodeStore.open({
  directory,
  flushChanges: 20 + choose(200),
  flushMs: 5 + choose(50),
  flushPiece: 1 + choose(50),
  commitMs: 1 + choose(40),
});

function takeStep(name: string, partition: PartitionStore): void {
  const step = partition.notes.gclsn + 1;
  apply(partition, step, actionOf(seed, name, step, viewOf(partition)));
  partition.sync((error) => {
    if (error !== undefined) throw error;
    writeSync(1, `${name} ${step}\n`);
    takeStep(name, partition);
  });
}

for (const name of PARTITIONS) {
  const partition = store.partition(name);
  for (let count = 0; count < IN_FLIGHT; count += 1) takeStep(name, partition);
}
// Ends with its parent.
process.stdin.resume();
process.stdin.on('end', () => process.exit());
