import { describe, expect, test } from 'vitest';
import { refusal, refusalOfGreeting } from './redis-refusals.ts';
import { hazardOf, hazardOfAnswer, readInfo, readSettings } from './redis-safety.ts';

const INFO = {
  redis_version: '7.0.15',
  loading: '0',
  role: 'master',
  aof_base_size: '88',
  aof_rewrite_in_progress: '0',
  aof_rewrite_scheduled: '0',
  aof_last_bgrewrite_status: 'ok',
};
const SETTINGS = {
  appendonly: 'yes',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  maxmemory: '0',
  'maxmemory-policy': 'noeviction',
};

function hazard(info: object = {}, settings: object = {}, isFirst = false): string {
  const found = hazardOf(
    new Map(Object.entries({ ...INFO, ...info })),
    new Map(Object.entries({ ...SETTINGS, ...settings })),
    isFirst,
  );
  return found === undefined ? 'none' : `${found.code}: ${found.what}`;
}

describe('what makes a Redis server unsafe', () => {
  test('is none of the settings that are asked for', () => {
    expect(hazard()).toBe('none');
  });

  test.each([
    [{ role: 'slave' }, {}, /^STORE_FAILED: .*master/],
    [{ loading: '1' }, {}, /^UNREACHABLE: /],
    [{}, { appendonly: 'no' }, /appendonly yes$/],
    [{}, { appendonly: undefined }, /appendonly yes$/],
    [{}, { appendfsync: 'no' }, /appendfsync always$/],
    [{}, { 'no-appendfsync-on-rewrite': 'yes' }, /no-appendfsync-on-rewrite no$/],
    [{}, { maxmemory: '1', 'maxmemory-policy': 'allkeys-lfu' }, /maxmemory-policy noeviction$/],
    [{ aof_base_size: '0', aof_rewrite_in_progress: '1' }, {}, /wait for it$/],
    [{ aof_base_size: '0', aof_rewrite_scheduled: '1' }, {}, /wait for it$/],
    [{ aof_base_size: '0', aof_last_bgrewrite_status: 'err' }, {}, /wait for it$/],
    [{ redis_version: '6.2.14' }, {}, /use Redis 7 or newer/],
    [{ redis_version: undefined }, {}, /use Redis 7 or newer/],
    [{}, { 'aof-load-corrupt-tail-max-size': '4096' }, /aof-load-corrupt-tail-max-size 0$/],
  ])('is %o %o', (info, settings, what) => {
    expect(hazard(info, settings)).toMatch(what);
  });

  test('is a file that is written anew, where nobody knows whether there is another', () => {
    for (const info of [{ aof_rewrite_in_progress: '1' }, { aof_last_bgrewrite_status: 'err' }])
      expect([hazard(info, {}, true), hazard(info)]).toEqual([expect.stringMatching(/wait for it$/), 'none']);
  });

  test.each([
    [{ appendonly: 'no' }, /appendonly yes$/],
    [{ appendfsync: 'everysec' }, /appendfsync always$/],
    [{ 'no-appendfsync-on-rewrite': 'yes' }, /no-appendfsync-on-rewrite no$/],
  ])('is seen in any answer, as far as the disk is concerned: %o', (settings, what) => {
    const found = hazardOfAnswer(new Map(Object.entries({ ...SETTINGS, ...settings })));
    expect(found).toMatchObject({ what: expect.stringMatching(what), forgets: true });
  });

  test.each([
    [{ aof_rewrite_in_progress: '1' }, {}],
    [{ aof_base_size: '0' }, {}],
    [{}, { 'maxmemory-policy': 'allkeys-lru' }],
    [{}, { maxmemory: '1', 'maxmemory-policy': 'volatile-lru' }],
  ])('is not %o %o', (info, settings) => {
    expect(hazard(info, settings)).toBe('none');
  });

  test('is read from what the server says', () => {
    const info = readInfo('# Replication\r\nrole:slave\r\nmaster_host:::1\r\n\r\n');
    expect([info.get('role'), info.get('master_host')]).toEqual(['slave', '::1']);
    const settings = readSettings(['appendonly', 'yes', 'appendfsync', 'always']);
    expect([...settings]).toEqual([
      ['appendonly', 'yes'],
      ['appendfsync', 'always'],
    ]);
  });
});

describe('what a Redis server says when it refuses', () => {
  test('has the same name from servers of any version', () => {
    const said = "READONLY You can't write against a read only replica.";
    for (const answer of [
      `${said} script: 05f4, on @user_script:1.`,
      `ERR Error running script (call to f_05f4): @user_script:1: @user_script: 1: -${said}`,
      said,
    ])
      expect(refusal('redis://h', answer).message).toContain('has become a replica');
  });

  test.each([
    ["NOPERM this user has no permissions to run the 'eval' command", 'EVALSHA'],
    ["ERR ACL failure in script: User alice has no permissions to run the 'hset' command", 'HSET'],
    ["ERR The user executing the script can't run this command or subcommand script: 1", 'HSET'],
    ['NOPERM this user has no permissions to access one of the keys used as arguments', '~{PREFIX}:*'],
    ["NOPERM User alice has no permissions to access the 'x' key", '~{PREFIX}:*'],
  ])('names what to allow, and no user: %s', (answer, what) => {
    const error = refusal('redis://h', answer);
    expect(error).toMatchObject({ code: 'UNAUTHORIZED', message: expect.stringContaining(what) });
    expect(error.message).not.toContain('alice');
  });

  test('to a greeting is not quoted: it may hold the password', () => {
    const answer = "ERR unknown command 'AUTH', with args beginning with: 'alice' 'secret'";
    const error = refusalOfGreeting('redis://h', answer, 0);
    expect(error.code).toBe('UNAUTHORIZED');
    expect(`${error.message}${String(error.cause)}`).not.toMatch(/alice|secret/);
  });
});
