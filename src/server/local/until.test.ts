import { expect, test } from 'vitest';
import { until } from './until.ts';

test('what makes progress is waited for however long it takes, what does not until its time is over', async () => {
  let left = 5;
  const asked: number[] = [];
  const lacking = async (): Promise<string | undefined> => {
    left -= 1;
    asked.push(left);
    return left === 0 ? undefined : `${left} are left`;
  };
  // No time at all, and yet it is asked again, since it has come further each time.
  await until(lacking, 0, { hasProgressed: () => true });
  expect(asked).toEqual([4, 3, 2, 1, 0]);
  await expect(until(async () => '3 are left', 0)).rejects.toMatchObject({
    code: 'TIMED_OUT',
    message: expect.stringContaining('3 are left'),
  });
});
