/**
 * What a process gets from the machine it runs on besides network and disk: clocks, timers and chance. Whatever waits or
 * draws takes them from here, so that the same code runs in a real process and in the simulator's virtual time.
 */
export interface Host {
  /**
   * Monotonic milliseconds: for durations, and the only clock that safety may rest on. It goes on while the machine is suspended
   * (`continuous-clock.ts`): a lease that ended meanwhile is over at the first question after it.
   */
  now(): number;
  /** Milliseconds since 1970: for people and for ballots. May jump. */
  wallClock(): number;
  /** Runs once after that many milliseconds. */
  after(ms: number, run: () => void): Timer;
  cancel(timer: Timer | undefined): void;
  /** Runs when what is going on now is done. */
  soon(run: () => void): void;
  /** In 0 .. 1, never 1: for jitter. */
  random(): number;
  /** 0 .. bound-1, of a quality that makes it unique if the bound is large. */
  randomInteger(bound: number): number;
  /** A name that nobody else will ever have. */
  randomId(): string;
}

/** A timer that was set; means something to its host only. */
export type Timer = object;
