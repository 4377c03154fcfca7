/**
 * Session: what a session has done and seen is behind it for good. A session is told by its name and by its tokens: a token is a
 * position, and whoever sends it, also another client it was handed to, is in the session that it came from. "Had" means that
 * the earlier call had ended before this one started (for a repeated write: before its first attempt started).
 *
 *   session.read-your-writes     every session read r sees at least every position at which its session had written.
 *   session.monotonic-reads      every session read r sees at least every version and snapshot that its session had read.
 *   session.monotonic-writes     every write's position is above every position at which its session had written.
 *   session.writes-follow-reads  every write's position is above every version that its session had read.
 *   session.token                a read sees at least the token it sent; a write's position is above the token it sent; a token
 *                                received is no lower than the token sent, the version and snapshot read, and the position
 *                                written.
 *
 * Positions compare as (epoch, LSN): after a failover that lost a write, the new epoch is above it. What was lost is for `loss.ts`.
 * Stated for session reads, and for writes to accounts at session or stronger.
 */
import { type Evidence, Frontier, type FrontierItem, type ResolvedRead } from './evidence.ts';
import { type ConsistencyFinding, type ConsistencyRule, finding } from './findings.ts';
import {
  type ClientWrite,
  formatOperation,
  formatPosition,
  isAtLeast,
  laterOf,
  type Position,
  positionOrder,
} from './history.ts';

export function checkSession(evidence: Evidence): ConsistencyFinding[] {
  const reads = evidence.reads.filter(({ read }) => read.level === 'Session');
  const written = frontiersOfWrites(evidence);
  const read = bySession(reads.flatMap((resolved) => learned(resolved, false)));
  const seen = bySession(reads.flatMap((resolved) => learned(resolved, true)));
  const findings: ConsistencyFinding[] = [];
  for (const resolved of reads) {
    findings.push(
      ...checkRead(evidence, resolved, 'session.read-your-writes', written),
      ...checkRead(evidence, resolved, 'session.monotonic-reads', seen),
      ...checkTokenOfRead(evidence, resolved),
    );
  }
  for (const { start, attempts } of evidence.writes) {
    for (const attempt of attempts) {
      if (!isToldPosition(attempt)) continue;
      findings.push(
        ...checkWrite(attempt, start, 'session.monotonic-writes', written),
        ...checkWrite(attempt, start, 'session.writes-follow-reads', read),
        ...checkTokenOfWrite(attempt, start),
      );
    }
  }
  return findings;
}

type ToldWrite = ClientWrite & { readonly position: Position };

function isToldPosition(write: ClientWrite): write is ToldWrite {
  return write.outcome === 'ok' && write.position !== undefined && isAtLeast(write.level, 'Session');
}

function checkRead(
  evidence: Evidence,
  resolved: ResolvedRead,
  rule: ConsistencyRule,
  frontiers: ReadonlyMap<string, Frontier>,
): ConsistencyFinding[] {
  const { read } = resolved;
  const known = frontiers.get(read.session)?.before(read.start);
  if (known === undefined || evidence.seesAtLeast(resolved, known.position)) return [];
  const sentence = `${formatOperation(read)} does not see ${formatPosition(known.position)}, which its session had from ${formatOperation(known.by)}.`;
  return [finding(rule, sentence, [known.by, read])];
}

function checkWrite(
  write: ToldWrite,
  start: number,
  rule: ConsistencyRule,
  frontiers: ReadonlyMap<string, Frontier>,
): ConsistencyFinding[] {
  const known = frontiers.get(write.session)?.before(start);
  if (known === undefined || positionOrder(write.position, known.position) > 0) return [];
  const sentence = `${formatOperation(write)} is at ${formatPosition(write.position)}, not above ${formatPosition(known.position)}, which its session had from ${formatOperation(known.by)}.`;
  return [finding(rule, sentence, [known.by, write])];
}

function checkTokenOfRead(evidence: Evidence, resolved: ResolvedRead): ConsistencyFinding[] {
  const { read, version } = resolved;
  const { tokenSent, tokenReceived, snapshot } = read;
  if (tokenSent !== undefined && !evidence.seesAtLeast(resolved, tokenSent)) {
    const sentence = `${formatOperation(read)} does not see the token it sent, ${formatPosition(tokenSent)}.`;
    return [finding('session.token', sentence, [read])];
  }
  const covered = [tokenSent, snapshot, typeof version === 'string' ? undefined : version];
  return checkCovered(read, tokenReceived, covered);
}

/** A repeated write gets its first answer, which may be older than a token that its session got in the meantime. */
function checkTokenOfWrite(write: ToldWrite, start: number): ConsistencyFinding[] {
  const { tokenReceived, position } = write;
  const tokenSent = start === write.start ? write.tokenSent : undefined;
  if (tokenSent !== undefined && positionOrder(position, tokenSent) <= 0) {
    const sentence = `${formatOperation(write)} is at ${formatPosition(position)}, not above the token it sent, ${formatPosition(tokenSent)}.`;
    return [finding('session.token', sentence, [write])];
  }
  return checkCovered(write, tokenReceived, [tokenSent, position]);
}

function checkCovered(
  call: ClientWrite | ResolvedRead['read'],
  received: Position | undefined,
  covered: readonly (Position | undefined)[],
): ConsistencyFinding[] {
  const missing = received && covered.find((one) => one !== undefined && positionOrder(received, one) < 0);
  if (received === undefined || missing === undefined) return [];
  const sentence = `${formatOperation(call)} received the token ${formatPosition(received)}, below ${formatPosition(missing)}.`;
  return [finding('session.token', sentence, [call])];
}

function frontiersOfWrites({ writes }: Evidence): Map<string, Frontier> {
  const told = writes.flatMap(({ attempts }) => attempts.filter(isToldPosition));
  return bySession(told.map((by) => ({ time: by.end ?? Infinity, position: by.position, by })));
}

/** What a session knows from a read: its version, and its snapshot if that counts. */
function learned({ read, version }: ResolvedRead, withSnapshot: boolean): FrontierItem[] {
  const snapshot = withSnapshot ? read.snapshot : undefined;
  const position =
    typeof version === 'string' ? snapshot : snapshot === undefined ? version : laterOf(snapshot, version);
  return position === undefined ? [] : [{ time: read.end ?? Infinity, position, by: read }];
}

function bySession(items: readonly FrontierItem[]): Map<string, Frontier> {
  const grouped = new Map<string, FrontierItem[]>();
  for (const item of items) {
    const known = grouped.get(item.by.session);
    if (known === undefined) grouped.set(item.by.session, [item]);
    else known.push(item);
  }
  return new Map([...grouped].map(([session, ofSession]) => [session, new Frontier(ofSession)]));
}
