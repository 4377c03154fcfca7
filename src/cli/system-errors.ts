/** Errors of the operating system that are no defects of the program, such as a full disk: each with a stable code and the way out. */

interface SystemError extends Error {
  readonly code: string;
  readonly path?: string;
}

interface Refusal {
  readonly code: string;
  readonly sentence: (where: string) => string;
}

const DENIED: Refusal = {
  code: 'PERMISSION_DENIED',
  sentence: (where) =>
    `Permission denied: ${where}. Run the command as a user who has access, or choose another place.`,
};
const READ_ONLY: Refusal = {
  code: 'PERMISSION_DENIED',
  sentence: (where) => `The file system is read-only: ${where}. Choose another place.`,
};
const FULL: Refusal = {
  code: 'DISK_FULL',
  sentence: (where) => `The disk is full: ${where} cannot be written. Free some space and start again.`,
};
const TOO_MANY: Refusal = {
  code: 'TOO_MANY_FILES',
  sentence: (where) => `Too many open files: ${where}. Raise the limit with \`ulimit -n\`.`,
};

const REFUSALS: Readonly<Record<string, Refusal>> = {
  EACCES: DENIED,
  EPERM: DENIED,
  EROFS: READ_ONLY,
  ENOSPC: FULL,
  EDQUOT: FULL,
  EMFILE: TOO_MANY,
  ENFILE: TOO_MANY,
};

/** Undefined for everything else: that is a defect, and is thrown with all it has. */
export function refusalBySystem(error: unknown): { code: string; message: string } | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined;
  const { code, path, message } = error as SystemError;
  const refusal = Object.hasOwn(REFUSALS, code) ? REFUSALS[code] : undefined;
  return refusal && { code: refusal.code, message: refusal.sentence(path ?? message) };
}
