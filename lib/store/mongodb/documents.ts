import type { Collection, Document } from 'mongodb'
import type { Layout } from '../layout.ts'
import type { MongoCalls } from './calls.ts'

/** A document as MongoDB stores it: `_id` is its encoded key, so `_id` sorts like the key. */
export type StoredDocument = Document & { readonly _id: string }

/** A collection of the driver with its layout and the calls of its client. */
export interface MongoCollection {
  readonly documents: Collection<StoredDocument>
  readonly layout: Layout
  readonly calls: MongoCalls
  /** The time by which documents expire, in Unix milliseconds. */
  readonly now_ms: () => number
}

/** A MongoDB filter. */
export type Condition = Readonly<Record<string, unknown>>

/** The document without `_id`. */
export function withoutId({ _id, ...document }: StoredDocument): Record<string, unknown> {
  return document
}
