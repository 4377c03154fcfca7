/** Virtual time, randomness and networks: what every simulation is made of. */
export * from './azure.ts';
export * from './event-queue.ts';
export * from './latency.ts';
export * from './random.ts';
