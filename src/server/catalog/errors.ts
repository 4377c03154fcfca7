/** Why the catalogue could not be read or changed: one sentence, a stable code. */
export const CATALOG_ERRORS = {
  CATALOG_UNREACHABLE: 'too few acceptors answer; nothing was changed',
  CATALOG_UNKNOWN: 'whether the change was made is not known; read the catalogue to find out',
  CATALOG_NEWER: 'the catalogue was written by a newer version of this software',
  CATALOG_DAMAGED: 'what the register holds is no catalogue',
  CATALOG_COLUMNS: 'the cluster file gives regions another number of nodes than the data were laid out for',
} as const;

export type CatalogErrorCode = keyof typeof CATALOG_ERRORS;

export class CatalogError extends Error {
  override readonly name = 'CatalogError';
  readonly code: CatalogErrorCode;

  constructor(code: CatalogErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
