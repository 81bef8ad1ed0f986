import { Unavailable } from '#lib/contract/errors/unavailable.ts'

/**
 * The result of a write is unknown: it may have happened, or may still happen. Never treat it as a failure: read until
 * the result is certain, and decide then.
 */
export class Ambiguous extends Unavailable {
  override readonly name = 'Ambiguous'
}

/** Another document has the same values in a unique index. `index` names the index; `key` means the document's key. */
export class Duplicate extends Error {
  override readonly name = 'Duplicate'
  readonly index: string

  constructor(collection: string, index: string) {
    super(`${collection}: duplicate in ${index}`)
    this.index = index
  }
}

/** The write that this one had to follow failed, so this one did not take place. `cause` is that failure. */
export class PrecedingWriteFailed extends Error {
  override readonly name = 'PrecedingWriteFailed'

  constructor(cause: unknown) {
    super('the write that this one follows has failed', { cause })
  }
}

/** The document is not at the version that the guarded write expected, or is gone. Load it and decide again. */
export class Conflict extends Error {
  override readonly name = 'Conflict'
}

/** A blob was deleted while a snapshot was read. */
export class BlobGone extends Error {
  override readonly name = 'BlobGone'
}

/**
 * The body of an archived document cannot be read: no directory is configured, or its file is missing, damaged or too slow. `file` is
 * its name, without the directory.
 */
export class ArchiveUnavailable extends Unavailable {
  override readonly name = 'ArchiveUnavailable'
  readonly file: string

  constructor(file: string, reason: string) {
    super(`the archive file ${file} cannot be read: ${reason}`)
    this.file = file
  }
}
