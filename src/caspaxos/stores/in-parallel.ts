/**
 * Works through a batch with at most `bound` pieces under way; the results stand in the order of the items. After a failure
 * nothing more is begun: nobody waits for it.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  bound: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = Array.from({ length: items.length });
  const waiting = items.entries();
  let isOver = false;
  const worker = async (): Promise<void> => {
    for (const [at, item] of waiting) {
      if (isOver) return;
      try {
        results[at] = await work(item);
      } catch (error) {
        isOver = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(bound, items.length) }, worker));
  return results;
}

/** The batch in pieces of at most `size`. */
export function chunksOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const chunks: T[][] = [];
  for (let at = 0; at < items.length; at += size) chunks.push(items.slice(at, at + size));
  return chunks;
}
