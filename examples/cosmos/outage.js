// An order system that lives through the loss of a region. `npm start` must be running; then, from the root of the repository:
//
//   node examples/cosmos/outage.js [ENDPOINT]
//
// It uses nothing but the public client. Eight workers take orders; once a second it says how many were taken, where, how long
// the slowest one waited, and what went wrong. In the sixth second it kills the write region, in the sixteenth it heals it.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CosmosClient } from '@azure/cosmos';

const DATA = process.env.BATON_DATA ?? 'baton-data';
const endpoint = process.argv[2] ?? 'http://127.0.0.1:4401';
const key = keyIn(`${DATA}/keys/primary`);
const WORKERS = 8;
const SECONDS = 26;
const PLAN = { 6: ['kill', 'west'], 16: ['heal'] };

function keyIn(file) {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return giveUp(`There is no key in ${file}`);
  }
}

function giveUp(why) {
  console.error(`${why}: run \`npm start\` in another terminal first.`);
  return process.exit(1);
}

const account = new CosmosClient({ endpoint, key });
await account.getDatabaseAccount().catch((error) => giveUp(`Nobody answers at ${endpoint} (${error.code})`));
const { database } = await account.databases.createIfNotExists({ id: 'shop' });
const { container: orders } = await database.containers.createIfNotExists({
  id: 'orders',
  partitionKey: { paths: ['/customer'] },
});

const { resource: about } = await account.getDatabaseAccount();
const plain = (url) => url.replace(/\/$/, '');
const nameOf = new Map(about.readableLocations.map((one) => [plain(one.databaseAccountEndpoint), one.name]));
const taken = [];
let isOver = false;
let second = { taken: 0, slowest: 0, where: new Map(), errors: new Map() };

function add(counts, what) {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

async function work(worker) {
  for (let number = 1; !isOver; number += 1) {
    const order = { id: `${process.pid}-${worker}-${number}`, customer: `customer ${worker}`, total: number };
    const begun = performance.now();
    try {
      const { diagnostics } = await orders.items.create(order);
      const asked = diagnostics.clientSideRequestStatistics.locationEndpointsContacted.at(-1);
      add(second.where, nameOf.get(plain(asked)) ?? asked);
      second.taken += 1;
      second.slowest = Math.max(second.slowest, performance.now() - begun);
      taken.push(order);
    } catch (error) {
      add(second.errors, `${error.code}${error.substatus ? `/${error.substatus}` : ''}`);
    }
    await sleep(20);
  }
}

function chaos(...args) {
  const command = ['dist/cli/main.js', 'chaos', ...args, '--data', DATA];
  return new Promise((resolve) => {
    execFile(process.execPath, command, (error, stdout) => {
      console.log(`          $ baton chaos ${args.join(' ')}   -> ${error?.message ?? stdout.trim()}`);
      resolve();
    });
  });
}

function counted(counts) {
  return [...counts].map(([what, count]) => `${what} ${count}`).join(', ') || '-';
}

console.log('second    orders   slowest   written in                  errors');
const workers = Array.from({ length: WORKERS }, (_, worker) => work(worker));
for (let at = 1; at <= SECONDS; at += 1) {
  if (PLAN[at] !== undefined) void chaos(...PLAN[at]);
  await sleep(1000);
  const { taken: count, slowest, where, errors } = second;
  second = { taken: 0, slowest: 0, where: new Map(), errors: new Map() };
  console.log(
    `${String(at).padStart(6)}${String(count).padStart(10)}${`${(slowest / 1000).toFixed(2)} s`.padStart(10)}   ${counted(where).padEnd(28)}${counted(errors)}`,
  );
}
isOver = true;
await Promise.all(workers);

const { resources } = await orders.items.readAll().fetchAll();
const there = new Set(resources.map(({ id }) => id));
const lost = taken.filter(({ id }) => !there.has(id));
console.log(`${taken.length} orders were taken, ${lost.length} of them are lost`);
account.dispose();
process.exitCode = lost.length === 0 ? 0 : 1;
