import type { CollectionSpec } from '../store.ts'

/** A file of an archive that stubs of a collection may name. `ended_at`, and what it holds, is absent until its run has ended. */
export interface ArchiveFileRecord {
  readonly collection: string
  readonly file: string
  readonly began_at: Date
  readonly ended_at?: Date
  /** Its size in bytes, and the documents that were replaced by stubs of it. */
  readonly bytes?: number
  readonly documents?: number
}

/**
 * The files of the archives of a database. A record is stored before the first stub that names its file, so that `doctor`, a backup
 * and a restore know which files are needed without a look at all documents.
 */
export const ARCHIVE_FILES = {
  name: 'archive_files',
  partition: ['collection'],
  key: ['collection', 'file'],
} as const satisfies CollectionSpec
