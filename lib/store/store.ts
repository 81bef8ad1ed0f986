/**
 * A value in a document. A `bigint` is a signed 64-bit integer, a `number` a finite double (never use it for money), a
 * `Date` an instant in milliseconds, a `string` well-formed Unicode. `undefined` means "absent" and is not stored.
 * Refused with `TypeError`: instances of classes, field names with `$` or `.`, documents above 8 MiB.
 */
export type Value =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Uint8Array
  | readonly Value[]
  | { [field: string]: Value | undefined }

/** The fields and values of a key. */
export type Fields = Readonly<Record<string, string | number | bigint | Date>>

/**
 * A stored document: its content, and the version that the next guarded write must name. Versions begin at a random
 * number: after a deletion and a new insert under the same key, earlier versions do not match.
 */
export type Stored<D> = D & { readonly version: number }

/**
 * An index of a collection. `fields` are dotted paths to strings, safe integers, bigints or dates, one type per field.
 * An absent field is indexed as `null`, which sorts first. The last field may end in `[]` to index each element of an
 * array: a find then names the element, and with `unique` the array must be absent rather than empty. If `where` names a
 * field, only documents that have this field, `null` included, are in the index, and `unique` applies to them only. An
 * index begins with the first field of the partition, a unique one with all of it. `across_partitions` exempts the few
 * finds that ask all partitions (sweepers).
 */
export interface IndexSpec {
  readonly fields: readonly string[]
  readonly unique?: true
  readonly where?: string
  readonly across_partitions?: true
}

/**
 * The declaration of a collection, in a `store/` folder. `key` is the unique identity of a document. It begins with
 * `partition`, the fields that each find and each unique index begin with. `find('key', ...)` reads the key like an index.
 * `expires` names a Date field after which the document counts as deleted. A key, and an index entry with its key, has
 * at most 1,950 bytes. The definition of an index never changes under the same name. With `ranges` the partition is one
 * integer from 0 to `ranges` - 1, and a cluster keeps the documents of each integer together, on the server that `migrate`
 * chooses for them.
 */
export interface CollectionSpec {
  readonly name: string
  readonly partition: readonly string[]
  readonly key: readonly string[]
  readonly indexes?: Readonly<Record<string, IndexSpec>>
  readonly expires?: string
  readonly ranges?: number
  /**
   * Set where the bodies of documents can be moved to files (docs/operators/archive.md). `keeps` names the fields that stay in the
   * database besides the key: what is indexed, and what must be known while the files are away. `withArchive` shows whole documents.
   * `verifyStub` gets what stays of a document, before its body is read, and throws if it was altered.
   */
  readonly archive?: {
    readonly keeps: readonly string[]
    verifyStub?(stub: object): void
  }
  /** Keeps a connection for the writes and the reads by key of the collection, so that heartbeats do not wait for other calls. */
  readonly is_urgent?: true
}

/** A range of an index: `equals` fixes its first fields; `from` (inclusive) and `to` (exclusive) bound the next field. */
export interface Range {
  readonly equals?: readonly (string | number | bigint | Date)[]
  readonly from?: string | number | bigint | Date | undefined
  readonly to?: string | number | bigint | Date | undefined
}

/**
 * How to read. A linearizable read sees every write that was acknowledged before it began, also while a
 * database fails over: then a former primary may still answer other reads with an older state. It costs a round trip to
 * a majority, so use it where a decision rests on the absence of a document.
 */
export interface GetOptions {
  readonly linearizable?: boolean
  /**
   * Whether an archived document may come as it is stored, without its body: for a caller that needs no more than the fields that
   * `CollectionSpec.archive` keeps, and the documents also while the files are away. Never write what came so.
   */
  readonly without_body?: boolean
}

/**
 * The page of a range to read. `after` is the position of the last document of the previous page: its index and key
 * fields; a whole document works too. `limit` is 1 to 1,000. `GetOptions` explains `linearizable`.
 */
export interface FindOptions extends GetOptions {
  readonly limit: number
  readonly after?: Readonly<Record<string, unknown>> | undefined
  readonly reverse?: boolean
}

/** How long a count may take. It ends with `Unavailable` at the limit, or at the store's own limit if that is shorter. */
export interface CountOptions {
  readonly limit_ms: number
}

/** How to insert. */
export interface InsertOptions {
  /**
   * The promise of an earlier write to the same store. The document is inserted only if that write succeeds; otherwise the
   * insert throws `PrecedingWriteFailed`. The embedded store makes both durable in one commit when the promise is the one
   * that it returned, so that nothing waits in between.
   */
  readonly after?: Promise<unknown>
  /**
   * Whether the document may share a command to the database with other such inserts of the same turn of the event loop.
   * Each document has an outcome of its own, as without it; only a failure of the command, such as a broken connection,
   * concerns all of them. The embedded store commits all waiting writes together anyway.
   */
  readonly is_grouped?: boolean
}

/**
 * One collection. Every write is durable when its promise resolves, and atomic for its one document. Every call ends
 * within the store's time limit. Errors: `Duplicate`, `Conflict`, `Unavailable`, `Ambiguous` (see `errors.ts`), and
 * `TypeError` for values that cannot be stored (an integer beyond 64 bits, NaN, a field name with `$` or `.`).
 */
export interface Collection<D extends object> {
  /** Adds a document, at a random first version. Throws `Duplicate`, which names the index (`key` for the identity). */
  insert(document: D, options?: InsertOptions): Promise<Stored<D>>
  /** The document with this key, or `undefined`. `key` holds exactly the fields of the collection's key. */
  get(key: Fields, options?: GetOptions): Promise<Stored<D> | undefined>
  /**
   * Documents of a range in the order of the index, and equal ones in the order of the key. Up to 64 ranges are read in one
   * command and moment, as one range in the order of the second field of the index: each fixes the first field, by a value of its
   * own. The index must not be unique or of array elements, and the order is forwards.
   */
  find(index: string, range: Range | readonly Range[], options: FindOptions): Promise<Stored<D>[]>
  /**
   * How many documents of a range there are by the value of the last field of the index, a string that each has. All of the
   * answer is of one moment, which contains every write that was acknowledged before, so it is exact where one page after
   * another is not. It comes from the index alone, on a server too: so the index must not be unique, of array elements or of
   * `where`, and no document may expire. Throws `Unavailable` at the time limit.
   */
  count(index: string, range: Range, options: CountOptions): Promise<ReadonlyMap<string, number>>
  /**
   * Replaces the document with the same key if it is still at `expected_version`. Returns the document at its new
   * version. Throws `Conflict` when it was changed or deleted: load it and decide again.
   */
  replace(document: D, expected_version: number): Promise<Stored<D>>
  /** Deletes the document if it is still at `expected_version`. Throws `Conflict` otherwise. */
  delete(key: Fields, expected_version: number): Promise<void>
}

/** Large binary objects, written once. An incompletely written blob does not exist. */
export interface Blobs {
  /** Stores the bytes under a new `id` and returns their number. Throws `Duplicate` when the blob exists. */
  put(id: string, bytes: AsyncIterable<Uint8Array>): Promise<number>
  /** The bytes from the beginning, or `undefined` when the blob does not exist. */
  get(id: string): Promise<AsyncIterable<Uint8Array> | undefined>
  /** Deletes the blob. Deleting an absent blob is not an error. */
  delete(id: string): Promise<void>
}

/** One service's store: a MongoDB database or an embedded environment. */
export interface Store {
  /**
   * Whether no other process has the documents open now: every earlier process is over then. Only embedded files tell that; `false`
   * says nothing.
   */
  isAlone(): boolean
  collection<D extends object>(spec: CollectionSpec): Promise<Collection<D>>
  blobs(name: string): Promise<Blobs>
  /** Resolves when the store answers; throws `Unavailable` when it does not. */
  ping(): Promise<void>
  /**
   * The present time by the clock of the store, which all its processes share: that of the MongoDB server that answers,
   * or of the machine for embedded files. Throws `Unavailable`.
   */
  readClock(): Promise<Date>
  close(): Promise<void>
}
