/** What a clock shows for a tick. */
export const TICK_MS = 1000;
