import { Unavailable } from '#lib/contract/errors/unavailable.ts'

/** The format in which a release writes batches, and the newest one that it reads. */
export interface BatchFormats {
  readonly written: number
  readonly read_max: number
}

/**
 * The formats of this release. WARNING: a new format needs two releases, because old and new processes run together
 * during an update. The first raises `read_max` and learns to read the format; only the next one raises `written` (R9).
 */
export const BATCH_FORMATS: BatchFormats = { written: 1, read_max: 1 }

/**
 * A shard has a batch of a format that only a newer release reads. This process cannot know what the batch says, so it
 * must not decide for the shard nor read its accounts. It is `Unavailable`: a process of the newer release can.
 */
export class NewerBatchFormat extends Unavailable {
  override readonly name = 'NewerBatchFormat'
  readonly shard: number

  constructor(shard: number, seq: bigint, format: number) {
    super(
      `shard ${shard}: batch ${seq} has the format ${format}, which only a newer release reads; complete the update`,
    )
    this.shard = shard
  }
}
