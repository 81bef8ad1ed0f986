/**
 * What a document may hold. A `bigint` is a signed 64-bit integer, a `number` a finite double (keep money out of
 * it), a `Date` an instant in milliseconds, a `string` well-formed Unicode. `undefined` stands for "absent" and is
 * never stored. Not stored either, with a `TypeError`: objects of a class, names with `$` or `.`, more than 8 MiB.
 */
export type Value =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Uint8Array
  | Value[]
  | { [field: string]: Value | undefined }

/** The parts of a document that find one: field name to value. */
export type Fields = Readonly<Record<string, string | number | bigint | Date>>

/** A document as the store gives it: its content, and the version that the next guarded write must name. */
export type Stored<D> = D & { readonly version: number }

/**
 * An order over the documents of a collection. `fields` are dotted paths to strings, safe integers, bigints or dates,
 * of one kind each; absent is `null`, and comes first. The last one may end in `[]` to index each element of an array;
 * a find then names the element, and a unique one wants arrays absent rather than empty. `where` names a field: only
 * documents that have it (`null` included) are in the index. `unique` holds within the index. `across` is for the few
 * reads that have to ask every shard (sweepers, the operator's lists); every other index begins with the first field
 * of the partition, and a unique one with the whole of it.
 */
export interface IndexSpec {
  readonly fields: readonly string[]
  readonly unique?: true
  readonly where?: string
  readonly across?: true
}

/**
 * What a service declares of a collection, once, in its `store.ts`. `key` is the document's identity (unique); it
 * begins with `partition`, the fields by which a cluster divides the collection. `find('key', ...)` ranges over the
 * key as it does over a declared index. `expires` names a Date field: past it the document is as good as deleted.
 * A key, and an index entry with its key, has at most 1,950 bytes. Names of indexes never change their definition.
 */
export interface CollectionSpec {
  readonly name: string
  readonly partition: readonly string[]
  readonly key: readonly string[]
  readonly indexes?: Readonly<Record<string, IndexSpec>>
  readonly expires?: string
}

/**
 * A stretch of an index: `equals` fixes its first fields; `from` (inclusive) and `to` (exclusive) bound the next one.
 */
export interface Range {
  readonly equals?: readonly (string | number | bigint | Date)[]
  readonly from?: string | number | bigint | Date
  readonly to?: string | number | bigint | Date
}

/**
 * How much of a range to read. `after` is the position of the last document of the page before: the fields of the
 * index and of the key, as that document had them (any document of the collection will do). `limit` is 1 to 1,000.
 */
export interface FindOptions {
  readonly limit: number
  readonly after?: Readonly<Record<string, unknown>>
  readonly reverse?: boolean
}

/** The outcome of an `increment`: the new value, or `refused` with the value that stands when `max` forbids it. */
export type Incremented =
  | { readonly ok: true; readonly value: bigint }
  | { readonly ok: false; readonly value: bigint }

/**
 * One collection. Every write is durable when its promise resolves and atomic for its one document. Every call ends
 * within the store's time limit. Errors: `Duplicate`, `Conflict`, `Unavailable`, `Ambiguous` (see `errors.ts`), and
 * `TypeError` for what no store may hold (an integer beyond 64 bits, NaN, a field named with `$` or `.`).
 */
export interface Collection<D extends object> {
  /** Adds a document at version 1. Throws `Duplicate` naming the index (`key` for the identity). */
  insert(document: D): Promise<Stored<D>>
  /** The document with this key, or `undefined`. `key` holds exactly the fields of the collection's key. */
  get(key: Fields): Promise<Stored<D> | undefined>
  /** Documents of a range in the order of the index (ties in the order of the key). */
  find(index: string, range: Range, options: FindOptions): Promise<Stored<D>[]>
  /**
   * Puts `document` in the place of the one with the same key, if that is still at `expected_version`; answers it at
   * the next version. Throws `Conflict` when it is gone or has moved on: load, decide again.
   */
  replace(document: D, expected_version: number): Promise<Stored<D>>
  /** Deletes the document if it is still at `expected_version`; throws `Conflict` otherwise. */
  delete(key: Fields, expected_version: number): Promise<void>
  /**
   * Adds `by` to an integer field, creating the document when it is absent; nothing changes when the sum would pass
   * `max`. `expires_at` is set on creation only. WARNING: after `Ambiguous` the grant may have happened: never repeat
   * it to "make sure", count it as not received.
   */
  increment(
    key: Fields,
    field: string,
    by: bigint,
    options?: { max?: bigint; expires_at?: Date },
  ): Promise<Incremented>
}

/** Large binary objects, written once. A blob that was not put to its end does not exist. */
export interface Blobs {
  /** Stores the bytes under `id`, replacing nothing: throws `Duplicate` when it exists. Answers the size in bytes. */
  put(id: string, bytes: AsyncIterable<Uint8Array>): Promise<number>
  /** The bytes from the beginning, or `undefined` when there is no such blob. */
  get(id: string): Promise<AsyncIterable<Uint8Array> | undefined>
  /** Deletes the blob; deleting what is not there is no error. */
  delete(id: string): Promise<void>
}

/** One service's store: a MongoDB database or an embedded environment. */
export interface Store {
  collection<D extends object>(spec: CollectionSpec): Promise<Collection<D>>
  blobs(name: string): Promise<Blobs>
  /** Resolves when the store answers; throws `Unavailable` when it does not. */
  ping(): Promise<void>
  close(): Promise<void>
}
