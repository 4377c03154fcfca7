/** The account's databases and containers: one register, and what follows from it. */
export {
  type Catalog,
  CATALOG_KEY,
  type ContainerEntry,
  containersOf,
  type DatabaseEntry,
  databaseOf,
  DEFAULT_DATABASE,
  findContainer,
  findDatabase,
  firstCatalog,
  parseCatalog,
  sdkNameOf,
} from './catalog.ts';
export { CatalogRegister, type CatalogRegisterOptions } from './catalog-register.ts';
export {
  addContainer,
  addDatabase,
  adoptContainers,
  type ContainerReplacement,
  dropContainer,
  dropDatabase,
  type Edited,
  MAX_ACCOUNT_PARTITION_SETS,
  MAX_CONTAINERS,
  MAX_DATABASES,
  type NewContainer,
  type Refusal,
  replaceContainer,
  setThroughput,
} from './edits.ts';
export { CATALOG_ERRORS, CatalogError, type CatalogErrorCode } from './errors.ts';
export { marked, markOf } from './marks.ts';
export { type CatalogPlace, partitionSetName, placesIn, placesOf, ridOf } from './placement.ts';
