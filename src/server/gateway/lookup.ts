/** Finding what a path names in the catalogue. A database or container is named by its id, or by its rid as older clients do. */
import {
  type Catalog,
  type ContainerEntry,
  containersOf,
  type DatabaseEntry,
  findContainer,
  findDatabase,
  ridOf,
} from '../catalog/index.ts';
import { notFound } from './errors.ts';
import type { Resource } from './resources.ts';

export interface Found {
  readonly catalog: Catalog;
  readonly database: DatabaseEntry;
  readonly container: ContainerEntry;
}

export function databaseNamed(catalog: Catalog, name: string): DatabaseEntry | undefined {
  const named = findDatabase(catalog, name);
  if (named !== undefined || !name.endsWith('=')) return named;
  return catalog.databases.find((database) => ridOf(database) === name);
}

export function containerNamed(catalog: Catalog, database: string, name: string): Found | undefined {
  const within = databaseNamed(catalog, database);
  if (within === undefined) return undefined;
  const container =
    findContainer(catalog, within.id, name) ??
    (name.endsWith('=')
      ? containersOf(catalog, within).find((one) => ridOf(within, one) === name)
      : undefined);
  return container && { catalog, database: within, container };
}

/** Throws 404. */
export function databaseIn(catalog: Catalog, { database = '' }: Resource): DatabaseEntry {
  const found = databaseNamed(catalog, database);
  if (found === undefined) throw notFound(`There is no database ${database}.`);
  return found;
}

/** Throws 404. */
export function containerIn(catalog: Catalog, resource: Resource): Found {
  const { database = '', container = '' } = resource;
  const found = containerNamed(catalog, databaseIn(catalog, resource).id, container);
  if (found === undefined) throw notFound(`There is no container ${container} in database ${database}.`);
  return found;
}

/** Whether a catalogue lacks what the path names: a reason to look whether there is a newer one. */
export function lacks({ database = '', container = '' }: Resource): (catalog: Catalog) => boolean {
  return (catalog) => containerNamed(catalog, database, container) === undefined;
}
