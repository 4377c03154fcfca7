import { expect, test } from 'vitest';
import { demandNode } from './version.ts';

test.each(['4.9.1', '18.19.0', '20.18.3'])(
  'Node %s is refused with the version that is needed',
  (running) => {
    expect(() => demandNode(running)).toThrow(
      expect.objectContaining({
        code: 'NODE_TOO_OLD',
        message: `Baton needs Node 20.19 or newer; this is Node ${running}. Install a newer one from https://nodejs.org.`,
      }),
    );
  },
);

test.each(['20.19.0', '20.20.2', '22.0.0', '100.1.0'])('Node %s is accepted', (running) => {
  expect(() => demandNode(running)).not.toThrow();
});
