import { describe, expect, test } from 'vitest';
import { refusalIn } from './etcd-refusals.ts';

function answer(message: string): string {
  return JSON.stringify({ error: message, message, code: 14 });
}

describe('what etcd refuses', () => {
  test.each([
    ['etcdserver: no leader', 'UNREACHABLE', 'another-endpoint', 'no leader'],
    ['etcdserver: leader changed', 'UNREACHABLE', 'another-endpoint', 'no leader'],
    ['etcdserver: rpc not supported for learner, is a learner', 'UNREACHABLE', 'another-endpoint', 'leader'],
    ['etcdserver: request timed out', 'TIMED_OUT', 'another-endpoint', 'in time'],
    [
      'etcdserver: request timed out, possibly due to connection lost',
      'TIMED_OUT',
      'another-endpoint',
      'in time',
    ],
    ['etcdserver: mvcc: database space exceeded', 'STORE_FAILED', 'nothing', 'alarm disarm'],
    ['etcdserver: corrupt cluster', 'STORE_FAILED', 'nothing', 'CORRUPT'],
    ['etcdserver: request is too large', 'REQUEST_TOO_LARGE', 'smaller-request', '--max-request-bytes'],
    ['grpc: received message larger than max (1 vs. 2)', 'REQUEST_TOO_LARGE', 'smaller-request', 'size'],
    ['etcdserver: too many operations in txn request', 'STORE_FAILED', 'nothing', '--max-txn-ops'],
    ['etcdserver: invalid auth token', 'UNAUTHORIZED', 'authenticate', 'token'],
    ['etcdserver: revision in header is old', 'UNAUTHORIZED', 'authenticate', 'token'],
    ['etcdserver: user name is empty', 'UNAUTHORIZED', 'authenticate', 'ETCD_PASSWORD'],
    ['etcdserver: authentication failed, invalid user ID or password', 'UNAUTHORIZED', 'nothing', 'password'],
    ['etcdserver: permission denied', 'UNAUTHORIZED', 'nothing', 'grant-permission'],
    ['etcdserver: something new', 'STORE_FAILED', 'nothing', 'answered 503 (etcdserver: something new)'],
  ])('%s', (message, code, after, words) => {
    const refusal = refusalIn('etcd://h:1', 503, answer(message));
    expect(refusal).toMatchObject({ after, error: { code, message: expect.stringContaining(words) } });
    expect(refusal!.error.message).toMatch(/^Acceptor etcd:\/\/h:1 .*\.$/);
  });

  test.each([
    [404, '{"code":5,"message":"Not Found"}'],
    [404, '404 page not found'],
    [400, 'Client sent an HTTP request to an HTTPS server.'],
    [502, '<html>'],
    [500, '[]'],
    [500, '{"message":7}'],
  ])('%i %s is no answer of an etcd with a gateway', (status, text) => {
    expect(refusalIn('etcd://h:1', status, text)).toMatchObject({
      after: 'nothing',
      error: { code: 'STORE_FAILED', message: expect.stringContaining('--enable-grpc-gateway') },
    });
  });

  test('a good answer is none', () => {
    expect(refusalIn('etcd://h:1', 200, 'anything')).toBeUndefined();
  });
});
