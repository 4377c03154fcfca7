import { describe, expect, test } from 'vitest';
import { ContinuousClock } from './continuous-clock.ts';

/** A machine whose uptime is known to ten milliseconds, or as given, and whose wall clock to one. */
class Machine {
  awakeMs = 1000;
  asleepMs = 0;
  wallOffset = 1_767_225_600_000;
  uptimesAsked = 0;
  uptimeGrainMs = 10;
  /** What happens between the first and the second question of a look. */
  interruption: (() => void) | undefined;

  readonly clock = new ContinuousClock({
    monotonic: () => this.awakeMs,
    wallClock: () => {
      const shown = Math.floor(this.wallOffset + this.awakeMs + this.asleepMs);
      this.interruption?.();
      this.interruption = undefined;
      return shown;
    },
    uptime: () => {
      this.uptimesAsked += 1;
      return Math.floor((this.awakeMs + this.asleepMs) / this.uptimeGrainMs) * this.uptimeGrainMs;
    },
  });

  /** What the clock says, less what it should. */
  get error(): number {
    return this.clock.now() - this.awakeMs - this.asleepMs;
  }
}

describe('a clock that goes on while its machine is suspended', () => {
  test('tells at the first question how long that was', () => {
    const machine = new Machine();
    machine.asleepMs += 4321.5;
    expect(Math.abs(machine.error)).toBeLessThanOrEqual(1);
    machine.awakeMs += 77;
    machine.asleepMs += 40;
    expect(Math.abs(machine.error)).toBeLessThanOrEqual(1);
  });

  test('does not add up what it does not know exactly', () => {
    const machine = new Machine();
    for (let times = 0; times < 1000; times += 1) {
      machine.awakeMs += 13.7;
      machine.asleepMs += 333.3;
      machine.clock.now();
    }
    expect(Math.abs(machine.error)).toBeLessThanOrEqual(20);
  });

  test('is the monotonic one, and asks for the uptime twice a second only, where nothing happens', () => {
    const machine = new Machine();
    for (let ms = 0; ms < 10_000; ms += 1) {
      machine.awakeMs += 1;
      expect(machine.clock.now()).toBe(machine.awakeMs);
    }
    expect(machine.uptimesAsked).toBeLessThanOrEqual(22);
  });

  test.each([-3_600_000, -400, 400, 3_600_000])(
    'does not believe a wall clock that is set by %d ms',
    (ms) => {
      const machine = new Machine();
      machine.wallOffset += ms;
      expect(machine.error).toBe(0);
      machine.awakeMs += 1;
      expect(machine.error).toBe(0);
    },
  );

  test('is not deceived by a wall clock that is set as the machine wakes', () => {
    const machine = new Machine();
    machine.asleepMs += 60_000;
    machine.wallOffset += 500;
    expect(Math.abs(machine.error)).toBeLessThanOrEqual(10);
  });

  test('notices within half a second if that was set back by just as much', () => {
    const machine = new Machine();
    machine.asleepMs += 60_000;
    machine.wallOffset -= 60_000;
    machine.awakeMs += 500;
    expect(Math.abs(machine.error)).toBeLessThanOrEqual(10);
  });

  test('takes being interrupted in the middle of a look for no suspension', () => {
    const machine = new Machine();
    machine.wallOffset += 50;
    machine.interruption = () => {
      machine.awakeMs += 700;
    };
    machine.clock.now();
    for (let ms = 0; ms < 2000; ms += 1) {
      machine.awakeMs += 1;
      expect(machine.error).toBe(0);
    }
  });

  test('nor an uptime that goes by the second', () => {
    const machine = new Machine();
    machine.uptimeGrainMs = 1000;
    for (let ms = 0; ms < 10_000; ms += 7) {
      machine.awakeMs += 7;
      expect(machine.error).toBe(0);
    }
  });
});
