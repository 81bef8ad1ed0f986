import type { Db } from 'mongodb'
import { bucketOf } from '#lib/store/mongodb/gridfs.ts'

/** The number of uploads to MongoDB that are not complete: those with a mark, and those with chunks but without a file. */
export async function unfinishedUploads(db: Db): Promise<number> {
  const { files, chunks, unfinished } = bucketOf(db, 'files')
  const marks = await unfinished.find().toArray()
  const stored = await chunks.find({}, { projection: { files_id: 1 } }).toArray()
  const ids = new Set([...marks.map(({ _id }) => `${_id}`), ...stored.map(({ files_id }) => `${files_id}`)])
  for (const { _id } of await files.find().toArray()) ids.delete(`${_id}`)
  return ids.size
}
