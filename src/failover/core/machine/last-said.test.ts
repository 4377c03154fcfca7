/** What a starting process compares its disk with. */
import { describe, expect, test } from 'vitest';
import { accepted, healthy, heartbeat } from '../../../../test/failover/reports.ts';
import { lastSaidOf } from './state.ts';

describe('what is committed on the disk of a lease-set member', () => {
  const known = healthy();
  const progress = { epoch: 1, lsn: 12 };
  const ahead = accepted(known, heartbeat(known, 'A', { progress, gclsn: 12 }));

  test('is at Strong what the region that knows most has reported, whatever it said itself', () => {
    expect(lastSaidOf(ahead, 'B')).toEqual({
      incarnation: 1,
      progress: { epoch: 1, lsn: 10 },
      committed: 12,
    });
  });

  test('is not known of a region that commits do not wait for', () => {
    const alone = { ...ahead, leaseSet: ['A', 'C'] };
    expect(lastSaidOf(alone, 'B')).not.toHaveProperty('committed');
    expect(lastSaidOf(alone, 'C').committed).toBe(12);
  });

  test('is not known at a weaker level, nor after one, nor after an accepted loss', () => {
    const { configuration } = ahead;
    const weaker = {
      ...ahead,
      configuration: { ...configuration, consistency: 'BoundedStaleness' as const },
    };
    expect(lastSaidOf(weaker, 'B')).not.toHaveProperty('committed');
    expect(lastSaidOf({ ...ahead, sureFrom: 1 }, 'B')).not.toHaveProperty('committed');
  });
});
