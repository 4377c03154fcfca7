/** One update while it is under way: what each run of its editor would have done. */
export interface Update {
  readonly startedAt: number;
  readonly scheduled: boolean;
  /** What each run of the editor would have done: the one whose beat is in the register is the one that was done. */
  readonly tries: Try[];
}

export interface Try {
  readonly beat: number;
  readonly isRenewal: boolean;
  /** The step that it found. */
  readonly step: number;
}

/** The try that is in the register. Where two could be meant, it renewed the lease only if both would have (rule 3). */
export function doneOf({ tries }: Update, beat: number | undefined): Try | undefined {
  const possible = tries.filter((one) => one.beat === beat);
  const last = possible.at(-1);
  return last && { ...last, isRenewal: possible.every(({ isRenewal }) => isRenewal) };
}
