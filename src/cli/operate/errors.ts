/** How the operators' commands end. The codes are documented in docs/operators.md. */

export const EXIT = {
  ok: 0,
  /** A problem was found, or the cluster refused. */
  problem: 1,
  usage: 2,
  unreachable: 3,
  timedOut: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const OPERATE_ERRORS = {
  ANSWER_NEEDED: {
    exit: EXIT.problem,
    means:
      'The command asks before it acts, and there is no terminal to ask at; `--force` acts without asking.',
  },
  CLUSTER_NOT_FOUND: {
    exit: EXIT.usage,
    means: 'No cluster file was named, and none was found in the usual places.',
  },
  CLUSTER_UNREACHABLE: { exit: EXIT.unreachable, means: 'No node of the cluster answers.' },
  CREDENTIALS_REFUSED: {
    exit: EXIT.problem,
    means: 'The nodes require a different operator token or certificate.',
  },
  NOT_CONFIRMED: { exit: EXIT.problem, means: 'The confirmation was declined.' },
  PARTITION_SET_UNKNOWN: { exit: EXIT.usage, means: 'The cluster has no partition-set of that name.' },
  REFUSED: { exit: EXIT.problem, means: 'The cluster refused the request; the sentence says why.' },
  USAGE: { exit: EXIT.usage, means: 'The command line is wrong, or the cluster file cannot be used.' },
} as const satisfies Record<string, { readonly exit: ExitCode; readonly means: string }>;

export type OperateErrorCode = keyof typeof OPERATE_ERRORS;

export class OperateError extends Error {
  override readonly name = 'OperateError';
  readonly code: OperateErrorCode;

  constructor(code: OperateErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  get exit(): ExitCode {
    return OPERATE_ERRORS[this.code].exit;
  }
}

export function usage(message: string): OperateError {
  return new OperateError('USAGE', message);
}
