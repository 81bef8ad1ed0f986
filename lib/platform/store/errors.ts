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

/** The document is not at the version that the guarded write expected, or is gone. Load it and decide again. */
export class Conflict extends Error {
  override readonly name = 'Conflict'
}
