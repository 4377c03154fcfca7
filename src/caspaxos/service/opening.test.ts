import { expect, test } from 'vitest';
import { CasPaxosError } from '../errors.ts';
import { committed } from './committed.ts';
import { openedAgain } from './opening.ts';

/** As the library fails: every write of a commit is refused, and the reason is in a promise of its own. */
function refused(reason: Error): Promise<never> {
  const commitError = Promise.reject(reason);
  return Promise.reject(
    Object.assign(new Error('Commit failed (see commitError for details)'), { commitError }),
  );
}

test('a commit that fails is told with the reason', async () => {
  const reason = new Error('MDB_BAD_TXN');
  await expect(committed(refused(reason))).rejects.toBe(reason);
  await expect(committed(Promise.reject(new Error('closed')))).rejects.toThrow('closed');
  await expect(committed(Promise.resolve(true))).resolves.toBeUndefined();
});

test('a reason that does not come is not waited for', async () => {
  const failure = Object.assign(new Error('Commit failed'), { commitError: new Promise(() => {}) });
  await expect(committed(Promise.reject(failure))).rejects.toBe(failure);
});

test('a database that refuses a commit is opened anew', async () => {
  let attempts = 0;
  const open = async (): Promise<string> => {
    attempts += 1;
    if (attempts < 3) throw new Error('MDB_BAD_TXN: reserved freelist');
    return 'open';
  };
  expect(await openedAgain(open, 'data')).toBe('open');
  expect(attempts).toBe(3);
});

test('one that refuses it again and again is given up with a sentence', async () => {
  let attempts = 0;
  const open = async (): Promise<never> => {
    attempts += 1;
    throw new Error('MDB_BAD_TXN: reserved freelist\n');
  };
  await expect(openedAgain(open, '/data')).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(/^The database in \/data refuses .*reserved freelist\. Nothing is lost/),
  });
  expect(attempts).toBe(5);
});

test('what is final is not tried again', async () => {
  let attempts = 0;
  const open = async (): Promise<never> => {
    attempts += 1;
    throw new CasPaxosError('DATA_LOCKED', 'in use');
  };
  await expect(openedAgain(open, 'data')).rejects.toThrow('in use');
  expect(attempts).toBe(1);
});
