/** Virtual time, randomness and networks: what every simulation is made of. */
export * from './azure.ts';
export * from './event-queue.ts';
export * from './latency.ts';
export * from './random.ts';
export * from './trace.ts';
export * from './clock.ts';
export * from './disk.ts';
export * from './links.ts';
