import { Unavailable } from '#lib/contract/errors/unavailable.ts'

/**
 * A write whose fate is unknown: it may have happened, or may yet. Read (until the answer is certain) before you
 * decide anything, and never take it for a failure.
 */
export class Ambiguous extends Unavailable {
  override readonly name = 'Ambiguous'
}

/** An insert met a document with the same values in a unique index; `index` says which (`key` for the identity). */
export class Duplicate extends Error {
  override readonly name = 'Duplicate'
  readonly index: string

  constructor(collection: string, index: string) {
    super(`${collection}: duplicate in ${index}`)
    this.index = index
  }
}

/** The document is not at the version that the guarded write named (or is gone): load it and decide again. */
export class Conflict extends Error {
  override readonly name = 'Conflict'
}
