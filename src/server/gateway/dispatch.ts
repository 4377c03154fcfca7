/** Which handler answers a request: by the type of what its path names. */
import { handleAccount } from './account.ts';
import { handleContainers } from './containers.ts';
import type { Handler } from './context.ts';
import { handleDatabases } from './databases.ts';
import { notSupported } from './errors.ts';
import { handleOffers } from './offers.ts';
import { handleRanges } from './ranges.ts';
import type { ResourceType } from './resources.ts';

/** `items` answers for documents. */
export function dispatcher(items: Handler): Handler {
  const handlers: Readonly<Record<ResourceType, Handler>> = {
    account: handleAccount,
    dbs: handleDatabases,
    colls: handleContainers,
    docs: items,
    pkranges: handleRanges,
    offers: handleOffers,
    unsupported: ({ resource }) => {
      throw notSupported(resource.what ?? 'This is');
    },
  };
  return async (request, context) => handlers[request.resource.type](request, context);
}
