import type { ObjectId } from 'mongodb'
import { every } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Bucket } from './bucket.ts'

const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1_000
const SWEEP_INTERVAL_MS = 60 * 60 * 1_000
const MARKS_MAX = 100
const REMOVE_MAX = 100

/** Marks the chunks of a file as garbage, until the mark is removed or a sweep finds the file. */
export async function markUnfinished(
  { unfinished, calls, now_ms }: Bucket,
  file_id: ObjectId,
): Promise<void> {
  const record = { since: new Date(now_ms()) }
  // An upsert without a guard, because writing it twice has the same effect as once.
  await calls.write((options) =>
    unfinished.updateOne({ _id: file_id }, { $set: record }, { ...options, upsert: true }),
  )
}

/** Removes the mark of a file whose chunks are not garbage. */
export async function removeMark({ unfinished, calls }: Bucket, file_id: ObjectId): Promise<void> {
  await calls.write((options) => unfinished.deleteOne({ _id: file_id }, options))
}

/** Removes the chunks of a file that does not exist, and then its mark. */
export async function removeChunks(bucket: Bucket, files_id: ObjectId): Promise<void> {
  const { chunks, calls } = bucket
  while (true) {
    const some = await calls.read((options) =>
      chunks
        .find({ files_id }, { ...options, sort: { n: 1 }, limit: REMOVE_MAX, projection: { n: 1 } })
        .toArray(),
    )
    const last = some.at(-1)
    if (last === undefined) break
    await calls.write((options) => chunks.deleteMany({ files_id, n: { $lte: last.n } }, options))
  }
  await removeMark(bucket, files_id)
}

/** The repeated removal of what interrupted uploads and deletions have left. */
export interface UnfinishedSweep {
  /** Ends the removal. Resolves when it does not use the store any more. */
  stop(): Promise<void>
}

/**
 * Removes, now and every hour, the chunks of uploads and deletions that ended more than a day ago without finishing. What
 * cannot be removed is logged and tried again in the next hour.
 */
export function sweepUnfinished(bucket: Bucket): UnfinishedSweep {
  let is_stopped = false
  let sweeping = Promise.resolve()
  const sweep = (): Promise<void> => {
    sweeping = removeAbandoned(bucket, () => is_stopped)
    return sweeping
  }
  const onError = (error: unknown): void =>
    log.warn({ collection: bucket.name, error }, 'unfinished blobs could not be listed; trying again')
  const timer = every(SWEEP_INTERVAL_MS, sweep, onError)
  sweep().catch(onError)
  return {
    async stop() {
      is_stopped = true
      timer.cancel()
      await sweeping.catch(() => {})
    },
  }
}

async function removeAbandoned(bucket: Bucket, isStopped: () => boolean): Promise<void> {
  const { unfinished, calls, now_ms } = bucket
  const since = { $lt: new Date(now_ms() - ABANDONED_AFTER_MS) }
  let last: ObjectId | undefined
  while (!isStopped()) {
    const filter = last === undefined ? { since } : { since, _id: { $gt: last } }
    const marks = await calls.read((options) =>
      unfinished.find(filter, { ...options, sort: { _id: 1 }, limit: MARKS_MAX }).toArray(),
    )
    for (const { _id: file_id } of marks) {
      if (isStopped()) return
      await removeIfAbsent(bucket, file_id).catch((error: unknown) =>
        log.warn({ collection: bucket.name, error }, 'an unfinished blob could not be removed; trying again'),
      )
    }
    last = marks.at(-1)?._id
    if (last === undefined) return
  }
}

async function removeIfAbsent(bucket: Bucket, file_id: ObjectId): Promise<void> {
  const { files, calls } = bucket
  const file = await calls.read((options) => files.findOne({ _id: file_id }, options))
  if (file === null) await removeChunks(bucket, file_id)
  else await removeMark(bucket, file_id)
}
