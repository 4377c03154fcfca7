/** Whether what was acknowledged is still there. */
import type { Container } from 'baton/client';

/** How many of the documents a strong read does not find. */
export async function countLost(
  container: Pick<Container, 'find'>,
  acknowledged: Iterable<string>,
): Promise<number> {
  let lost = 0;
  for (const id of acknowledged) {
    const { document } = await container.find(id, { consistency: 'Strong' });
    if (document === undefined) lost += 1;
  }
  return lost;
}
