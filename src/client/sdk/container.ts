/**
 * A container's documents. Every write has an operation id, so that it can be sent again when its answer is lost and is carried out
 * once all the same. Where a document belongs follows from its partition key.
 */
import { etagOf, type Operation, type PartitionKey, type PatchStep } from '../../engine/index.ts';
import type { NodeReadAnswer, NodeWriteAnswer } from '../wire/client-wire.ts';
import {
  type BatchResult,
  type FindResult,
  type ReadResult,
  withSession,
  type WriteResult,
} from './answers.ts';
import { bodyOf, documentIn, keyOf, keyOfDocument, keyOfId } from './documents.ts';
import { BatonError } from './errors.ts';
import type { Executed, Executor } from './executor.ts';
import { type ChangesOptions, type Change, readChanges } from './feed.ts';
import type {
  HedgeOptions,
  PartitionKeyValue,
  ReadOptions,
  RequestOptions,
  WriteOptions,
} from './options.ts';
import { hedgeOf } from './options.ts';
import { readRequest, writeRequest } from './requests.ts';
import { type ReadAllOptions, scanContainer } from './scan.ts';
import type { Session } from './session.ts';
import type { ContainerPlace } from './topology.ts';

interface Conditional {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

export type BatchOperation<T> =
  | ({ readonly op: 'create' | 'upsert'; readonly document: T } & Conditional)
  | ({ readonly op: 'replace'; readonly id: string; readonly document: T } & Conditional)
  | ({
      readonly op: 'patch';
      readonly id: string;
      readonly steps: readonly PatchStep[];
      readonly filter?: string | undefined;
    } & Conditional)
  | ({ readonly op: 'delete'; readonly id: string } & Conditional)
  /** Changes nothing; without such an item, or at another version, the batch is rejected. */
  | ({ readonly op: 'check'; readonly id: string } & Conditional);

export interface PatchOptions extends WriteOptions {
  /** `FROM c WHERE c.stock > 0`: only if that holds for the item. */
  readonly filter?: string | undefined;
}

export interface ContainerContext {
  readonly executor: Executor;
  readonly session: Session;
  readonly hedge: HedgeOptions | undefined;
}

export class Container<T extends object = Record<string, unknown>> {
  readonly name: string;
  readonly #context: ContainerContext;

  constructor(name: string, context: ContainerContext) {
    this.name = name;
    this.#context = context;
  }

  /** Rejects with CONFLICT if there is such an item. */
  create(document: T, options: Omit<WriteOptions, 'ifMatch' | 'ifNoneMatch'> = {}): Promise<WriteResult> {
    return this.#one('create', options, keyIn(document, options), () => ({
      op: 'create',
      body: bodyOf(document),
    }));
  }

  /** Writes the item whether there is one or not. */
  upsert(document: T, options: WriteOptions = {}): Promise<WriteResult> {
    return this.#one('upsert', options, keyIn(document, options), () => ({
      op: 'upsert',
      body: bodyOf(document),
    }));
  }

  /** Rejects with NOT_FOUND if there is no such item, with PRECONDITION_FAILED if it is not at the version of `ifMatch`. */
  replace(id: string, document: T, options: WriteOptions = {}): Promise<WriteResult> {
    return this.#one('replace', options, keyIn(document, options), () => ({
      op: 'replace',
      id,
      body: bodyOf(document),
    }));
  }

  /** Changes parts of the item. Rejects with PRECONDITION_FAILED if the `filter` does not hold for it. */
  patch(id: string, steps: readonly PatchStep[], options: PatchOptions = {}): Promise<WriteResult> {
    return this.#one('patch', options, keyBy(id, options), () => patchOf(id, steps, options));
  }

  delete(id: string, options: WriteOptions = {}): Promise<WriteResult> {
    return this.#one('delete', options, keyBy(id, options), () => ({ op: 'delete', id }));
  }

  /** Up to 100 operations on items of one partition key: all of them are carried out, or none. */
  async batch(
    partitionKey: PartitionKeyValue,
    operations: readonly BatchOperation<T>[],
    options: Omit<WriteOptions, 'partitionKey' | 'ifMatch' | 'ifNoneMatch'> = {},
  ): Promise<BatchResult> {
    const { executed, status } = await this.#write(
      'batch',
      options,
      () => keyOf(partitionKey),
      () => operations.map(batched),
    );
    const { results, position } = executed.answer;
    const etag = etagOf(position);
    const hasEtag = (at: number): boolean => !['delete', 'check'].includes(operations[at]?.op ?? '');
    const shown = results.map((one, at) => ({ status: one.status, etag: hasEtag(at) ? etag : undefined }));
    const { diagnostics } = executed;
    return withSession({ status, results: shown, diagnostics }, this.#sessionOf(options));
  }

  /** Rejects with NOT_FOUND if there is no such item. */
  async read(id: string, options: ReadOptions = {}): Promise<ReadResult<T>> {
    const found = await this.find(id, options);
    if (found.document !== undefined) return found as ReadResult<T>;
    throw new BatonError('NOT_FOUND', { status: 404, diagnostics: found.diagnostics });
  }

  /** Like `read`, but without a document if there is none. */
  async find(id: string, options: ReadOptions = {}): Promise<FindResult<T>> {
    const { answer, container, diagnostics } = await this.#read(id, options);
    const { version } = answer;
    const body = version?.body;
    const document = body && documentIn<T>({ ...version, body }, container);
    const etag = document && etagOf(version);
    const status = document === undefined ? 404 : 200;
    return withSession({ status, document, etag, diagnostics }, this.#sessionOf(options));
  }

  /** Every document, or those of one partition key, each as it was at one moment of its partition-set. */
  readAll(options: ReadAllOptions = {}): AsyncGenerator<ReadResult<T>['document'], void, undefined> {
    const { executor, hedge } = this.#context;
    return scanContainer<T>(executor, this.name, this.#sessionOf(options), {
      ...options,
      hedge: options.hedge ?? hedge,
    });
  }

  /** The change feed: every change from there on, in order within a partition key, until the signal aborts it. */
  changes(options: ChangesOptions = {}): AsyncGenerator<Change<T>, void, undefined> {
    return readChanges<T>(this.#context.executor, this.name, options);
  }

  // ---- writes

  async #one(
    name: string,
    options: WriteOptions,
    key: (container: ContainerPlace) => PartitionKey,
    operation: () => Operation,
  ): Promise<WriteResult> {
    const { executed, status } = await this.#write(name, options, key, () => [
      { ...operation(), ...conditionsIn(options) },
    ]);
    const { answer, diagnostics } = executed;
    const etag = name === 'delete' ? undefined : etagOf(answer.position);
    return withSession({ status, etag, diagnostics }, this.#sessionOf(options));
  }

  async #write(
    name: string,
    options: RequestOptions & { readonly operationId?: string | undefined },
    keyAt: (container: ContainerPlace) => PartitionKey,
    operationsOf: () => readonly Operation[],
  ): Promise<{ executed: Executed<NodeWriteAnswer>; status: number }> {
    const { executor } = this.#context;
    const executed = await executor.execute<NodeWriteAnswer>(
      writeRequest({
        name,
        container: this.name,
        keyAt,
        operations: operationsOf(),
        operationId: options.operationId ?? executor.host.randomId(),
        session: this.#sessionOf(options),
        ...requestOf(options),
      }),
    );
    return { executed, status: executed.answer.results[0]?.status ?? 200 };
  }

  // ---- reads

  #read(id: string, options: ReadOptions): Promise<Executed<NodeReadAnswer>> {
    const { executor, hedge } = this.#context;
    const session = this.#sessionOf(options);
    const level = options.consistency ?? executor.topology.map.account.consistency;
    return executor.execute<NodeReadAnswer>(
      readRequest({
        name: 'read',
        container: this.name,
        keyAt: (container) => keyOfId(id, options.partitionKey, container),
        id,
        level,
        seenIn: session.seenAt(level),
        hedge: options.hedge === undefined ? hedge : hedgeOf(options.hedge),
        session,
        ...requestOf(options),
      }),
    );
  }

  #sessionOf({ session }: RequestOptions): Session {
    return session ?? this.#context.session;
  }
}

function keyIn(
  document: object,
  { partitionKey }: WriteOptions,
): (container: ContainerPlace) => PartitionKey {
  return (container) => keyOfDocument(document, partitionKey, container);
}

function keyBy(id: string, { partitionKey }: WriteOptions): (container: ContainerPlace) => PartitionKey {
  return (container) => keyOfId(id, partitionKey, container);
}

function conditionsIn({ ifMatch, ifNoneMatch }: Conditional): { ifMatch?: string; ifNoneMatch?: string } {
  return { ...(ifMatch !== undefined && { ifMatch }), ...(ifNoneMatch !== undefined && { ifNoneMatch }) };
}

function requestOf({ timeoutMs, signal }: RequestOptions): Omit<RequestOptions, 'session'> {
  return { timeoutMs, signal };
}

function patchOf(
  id: string,
  steps: readonly PatchStep[],
  { filter }: Pick<PatchOptions, 'filter'>,
): Operation {
  return { op: 'patch', id, steps, ...(filter !== undefined && { filter }) };
}

function batched<T>(operation: BatchOperation<T>): Operation {
  const conditions = conditionsIn(operation);
  switch (operation.op) {
    case 'create':
    case 'upsert':
      return { op: operation.op, body: bodyOf(operation.document), ...conditions };
    case 'replace':
      return { op: 'replace', id: operation.id, body: bodyOf(operation.document), ...conditions };
    case 'patch':
      return { ...patchOf(operation.id, operation.steps, operation), ...conditions };
    case 'delete':
      return { op: 'delete', id: operation.id, ...conditions };
    case 'check':
      return { op: 'read', id: operation.id, ...conditions };
  }
}
