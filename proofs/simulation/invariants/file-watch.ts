import type { Change } from '../parts/store/memory-collection.ts'
import type { StoredFile, StoredQuota } from './files.ts'

/**
 * Judges each change of files and of the quotas of their senders. `clean` has the digests of all bytes that the scanner has found
 * clean.
 */
export function createFileWatch(clean: ReadonlySet<string>) {
  const places = createPlaceWatch()
  return {
    *onChange(collection: string, change: Change): Iterable<string> {
      if (collection === 'attachments.attachments') {
        yield* fileProblems(change, clean)
        yield* places.onFile(change)
      }
      if (collection === 'attachments.upload_quotas') {
        yield* places.onQuota(change)
        yield* quotaProblems(change)
      }
    },
  }
}

/** What is wrong with the places of files in the quotas of their senders (F4). */
interface PlaceWatch {
  onFile(change: Change): Iterable<string>
  onQuota(change: Change): Iterable<string>
}

/** The statuses in which a file needs the place that was kept for it. */
const NEEDS_PLACE = ['uploaded', 'scanning']

/** Makes the watch of places: a file is scanned only with a kept place, and keeps it until the scan has ended. */
function createPlaceWatch(): PlaceWatch {
  const statuses = new Map<string, string>()
  const kept = new Set<string>()
  return {
    *onFile({ before, after }) {
      const file = after as unknown as StoredFile | undefined
      if (file === undefined) return
      const { attachment_id, status } = file
      statuses.set(attachment_id, status)
      // A restored file may be scanned again, whose place was given back while an ordered backup ran.
      const is_begun = status === 'scanning' && before?.['status'] !== status
      if (is_begun && !kept.has(attachment_id))
        yield `the file ${attachment_id} is scanned without a place in the quota`
    },
    *onQuota({ before, after }) {
      const now_kept = keptIn(after)
      for (const attachment_id of keptIn(before)) {
        if (now_kept.includes(attachment_id)) continue
        kept.delete(attachment_id)
        const status = statuses.get(attachment_id) ?? ''
        if (NEEDS_PLACE.includes(status))
          yield `the file ${attachment_id} lost its place in the quota as ${status}`
      }
      for (const attachment_id of now_kept) kept.add(attachment_id)
    },
  }
}

function keptIn(quota: Change['after']): readonly string[] {
  const { places = [] } = (quota ?? {}) as unknown as Partial<StoredQuota>
  return places.flatMap(({ attachment_id, is_kept }) => (is_kept ? [attachment_id] : []))
}

/** The most open upload sessions of one sender (F4). */
const SESSIONS_MAX = 20
/** The most bytes that the files of these sessions have together (F4). */
const UNFINISHED_BYTES_MAX = 100 * 1024 * 1024

/** What is wrong with one change of the quota of a sender: a file has one place at most, and the limits are kept. */
function* quotaProblems({ key, after }: Change): Iterable<string> {
  const { places = [] } = (after ?? {}) as Partial<StoredQuota>
  const files = new Set(places.map(({ attachment_id }) => attachment_id))
  if (files.size < places.length) yield `a file has several places in the quota ${key}`
  if (places.length > SESSIONS_MAX) yield `the quota ${key} has ${places.length} sessions`
  const bytes = places.reduce((sum, { size_bytes }) => sum + size_bytes, 0)
  if (bytes > UNFINISHED_BYTES_MAX) yield `the quota ${key} has ${bytes} unfinished bytes`
}

/** What a file may become in one change; it may also stay as it is. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  awaiting_upload: ['uploaded', 'expired'],
  uploaded: ['scanning', 'rejected', 'expired'],
  scanning: ['ready', 'rejected'],
  ready: ['expired'],
}

/** What is wrong with one change of a file. `clean` has the digests of all bytes that the scanner has found clean. */
function* fileProblems({ key, before, after }: Change, clean: ReadonlySet<string>): Iterable<string> {
  const [old, next] = [before, after] as unknown as (StoredFile | undefined)[]
  if (next === undefined) {
    yield `the file ${key} was deleted`
    return
  }
  const from = old?.status ?? next.status
  if (old === undefined && from !== 'awaiting_upload') yield `the file ${key} begins as ${from}`
  if (next.status !== from && !NEXT[from]?.includes(next.status))
    yield `the file ${key} went from ${from} to ${next.status}`
  if (next.status === 'ready' && from !== 'ready') {
    if (!clean.has(next.upload?.sha256 ?? '')) yield `the file ${key} is ready without a clean scan`
    if (next.upload?.sha256 !== next.sha256) yield `the file ${key} is ready with other bytes than announced`
  }
  if (next.status === 'expired' && (old?.claim ?? next.claim))
    yield `the file ${key} expired while it was used`
  if (next.claim !== undefined && next.status !== 'ready') yield `the file ${key} is used as ${next.status}`
  if (old?.claim !== undefined && next.claim !== undefined && old.claim.used_by !== next.claim.used_by)
    yield `the file ${key} went from ${old.claim.used_by} to ${next.claim.used_by}`
}
