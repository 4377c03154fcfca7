/**
 * What a path of this API names. Paths alternate between a type and an id: `/dbs/D/colls/C/docs/I`. One that ends in a type
 * is a feed, and its parent is what the signature names; one that ends in an id names itself. Ids stand in paths encoded;
 * clients sign what they were before, mostly, so every spelling that a client may have signed is listed.
 */
import { parseRid } from '../../engine/index.ts';
import { badRequest, notFound } from './errors.ts';

export type ResourceType = 'account' | 'dbs' | 'colls' | 'docs' | 'pkranges' | 'offers' | 'unsupported';

export interface Resource {
  readonly type: ResourceType;
  /** As the signature spells it: `docs`; empty for the account. */
  readonly signedType: string;
  /** What the signature names: of a feed, its parent. Ids decoded. */
  readonly link: string;
  /** How else it may be spelled there. */
  readonly otherLinks: readonly string[];
  /** All of a parent's, or a new one: the path ends in a type. */
  readonly isFeed: boolean;
  /** Ids or rids, decoded, as far as the path has them. */
  readonly database?: string;
  readonly container?: string;
  /** Of an item, an offer, a range. */
  readonly item?: string;
  /** Of what is not supported: what people call it. */
  readonly what?: string;
}

/** Where each type may stand: after its parent's. */
const PARENTS: Readonly<Record<string, string>> = {
  dbs: '',
  offers: '',
  colls: 'dbs',
  users: 'dbs',
  clientencryptionkeys: 'dbs',
  permissions: 'users',
  docs: 'colls',
  pkranges: 'colls',
  sprocs: 'colls',
  triggers: 'colls',
  udfs: 'colls',
  conflicts: 'colls',
  partitionedsystemdocuments: 'colls',
  attachments: 'docs',
};

const UNSUPPORTED: Readonly<Record<string, string>> = {
  users: 'Users are',
  clientencryptionkeys: 'Client encryption keys are',
  permissions: 'Permissions are',
  sprocs: 'Stored procedures are',
  triggers: 'Triggers are',
  udfs: 'User-defined functions are',
  conflicts: 'Conflict feeds are',
  partitionedsystemdocuments: 'System documents are',
  attachments: 'Attachments are',
};

const SUPPORTED: ReadonlySet<string> = new Set(['dbs', 'colls', 'docs', 'pkranges', 'offers']);

const ACCOUNT: Resource = { type: 'account', signedType: '', link: '', otherLinks: [], isFeed: false };

/**
 * `target` is what the request line has. The API knows no query, and clients leave a question mark in the id of an item as it
 * is: so there it belongs to the id, and elsewhere what follows it is ignored. Throws 400 or 404.
 */
export function resourceOf(target: string): Resource {
  const isItem = /^\/*dbs\/[^/?]+\/colls\/[^/?]+\/docs\/[^/]/.test(target);
  const path = isItem ? target : target.split('?', 1)[0]!;
  const raw = path.split('/').filter((part) => part !== '');
  if (raw.length === 0) return ACCOUNT;
  const parts = raw.map(decoded);
  if (raw.length === 6 && parts[4] === 'operations') return operationOn(raw, parts);
  const type = checkedType(parts, path);
  const isFeed = parts.length % 2 === 1;
  const named = isFeed ? parts.length - 1 : parts.length;
  return {
    type: SUPPORTED.has(type) ? (type as ResourceType) : 'unsupported',
    signedType: type,
    ...linksTo(raw.slice(0, named), parts.slice(0, named), type),
    isFeed,
    ...namesIn(parts),
    ...(UNSUPPORTED[type] !== undefined && { what: UNSUPPORTED[type] }),
  };
}

/** `POST /dbs/D/colls/C/operations/O`: signed as the container. */
function operationOn(raw: readonly string[], parts: readonly string[]): Resource {
  return {
    type: 'unsupported',
    signedType: 'colls',
    ...linksTo(raw.slice(0, 4), parts.slice(0, 4), 'colls'),
    isFeed: true,
    ...namesIn(parts.slice(0, 4)),
    what: 'Operations on whole containers are',
  };
}

/** A rid names its resource alone, and is signed in small letters; so are all ids of offers. */
function linksTo(
  raw: readonly string[],
  parts: readonly string[],
  type: string,
): Pick<Resource, 'link' | 'otherLinks'> {
  const link = parts.join('/');
  const last = parts.at(-1) ?? '';
  const links = new Set([raw.join('/')]);
  if (last !== '' && (type === 'offers' || (last.endsWith('=') && parseRid(last) !== undefined))) {
    links.add(last.toLowerCase());
    links.add(last);
  }
  links.delete(link);
  return { link, otherLinks: [...links] };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw badRequest('The path is not encoded well.');
  }
}

function checkedType(parts: readonly string[], path: string): string {
  let parent = '';
  for (let at = 0; at < parts.length; at += 2) {
    const type = parts[at]!;
    if (!Object.hasOwn(PARENTS, type) || PARENTS[type] !== parent)
      throw notFound(`There is nothing at ${path.slice(0, 200)}.`);
    parent = type;
  }
  return parent;
}

function namesIn(parts: readonly string[]): Pick<Resource, 'database' | 'container' | 'item'> {
  const [first, database, second, container, , item] = parts;
  if (first === 'offers') return database === undefined ? {} : { item: database };
  return {
    ...(database !== undefined && { database }),
    ...(second === 'colls' && container !== undefined && { container }),
    ...(second === 'colls' && item !== undefined && { item }),
  };
}
