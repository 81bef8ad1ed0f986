import type { Collection, Db, ObjectId } from 'mongodb'
import type { MongoCalls } from './calls.ts'
import type { NamedIndex } from './indexes.ts'

/** The index of each collection of blobs that has one. */
export const BUCKET_INDEXES = {
  files: { name: 'by_filename', key: { filename: 1 }, unique: true },
  chunks: { name: 'by_file', key: { files_id: 1, n: 1 }, unique: true },
} as const satisfies Readonly<Record<string, NamedIndex>>

/** A piece of a file. */
export interface BucketChunk {
  readonly _id: ObjectId
  readonly files_id: ObjectId
  readonly n: number
  readonly data: Uint8Array
}

/** A complete file. It is inserted after its chunks. */
export interface BucketFile {
  readonly _id: ObjectId
  readonly filename: string
  readonly length: number
  readonly chunkSize: number
  readonly uploadDate: Date
}

/** An upload in progress, or a file that is being deleted. Its chunks are garbage unless its file exists. */
interface UnfinishedMark {
  readonly _id: ObjectId
  readonly since: Date
}

/** The collections of blobs with a name. */
interface BucketCollections {
  readonly files: Collection<BucketFile>
  readonly chunks: Collection<BucketChunk>
  readonly unfinished: Collection<UnfinishedMark>
}

/** The blobs with a name, and how to reach them. */
export interface Bucket extends BucketCollections {
  readonly name: string
  readonly calls: MongoCalls
  /** The time of the server, by which all processes judge the age of what is unfinished. */
  readonly now_ms: () => number
}

/** The collections that hold the blobs with a name. */
export function bucketOf(db: Db, name: string): BucketCollections {
  return {
    files: db.collection<BucketFile>(`${name}.files`),
    chunks: db.collection<BucketChunk>(`${name}.chunks`),
    unfinished: db.collection<UnfinishedMark>(`${name}.unfinished`),
  }
}
