import type { Collection, Document } from 'mongodb'
import type { Layout } from '#lib/platform/store/layout.ts'
import type { MongoCalls } from './calls.ts'

/** A document as MongoDB has it: `_id` is the text of its key, so that it orders as the key does. */
export type StoredDocument = Document & { readonly _id: string }

/** A collection of MongoDB with what is needed to work on it. */
export interface MongoCollection {
  readonly documents: Collection<StoredDocument>
  readonly layout: Layout
  readonly calls: MongoCalls
}

/** A condition of MongoDB's, or several of which each must hold. */
export type Condition = Readonly<Record<string, unknown>>

/** The document without what only MongoDB needs. */
export function withoutId({ _id, ...document }: StoredDocument): Record<string, unknown> {
  return document
}
