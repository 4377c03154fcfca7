/** The ranges of a container: which part of the hashes of partition keys each partition-set has. Clients route by them. */
import { ridOf } from '../catalog/index.ts';
import type { Handler } from './context.ts';
import { methodNotAllowed, notFound } from './errors.ts';
import { headerOf } from './headers.ts';
import { containerIn } from './lookup.ts';
import { rangesEtagOf, rangeViews } from './views.ts';

/** Clients ask for them as for a feed of changes, with the etag of what they have; there are never any. */
export const handleRanges: Handler = async ({ method, resource, headers }, { catalog }) => {
  if (method !== 'GET') throw methodNotAllowed('Ranges can only be read.');
  const { database, container, catalog: found } = containerIn(await catalog.read(), resource);
  const views = rangeViews(found, container);
  const etag = rangesEtagOf(container);
  if (!resource.isFeed) {
    const one = views.find((view) => 'id' in view && view.id === resource.item);
    if (one === undefined) throw notFound(`The container has no range ${resource.item}.`);
    return { status: 200, headers: { etag }, body: one };
  }
  if (headerOf(headers, 'if-none-match') === etag) return { status: 304, headers: { etag } };
  return {
    status: 200,
    headers: { etag, 'x-ms-item-count': String(views.length) },
    body: { _rid: ridOf(database, container), PartitionKeyRanges: views, _count: views.length },
  };
};
