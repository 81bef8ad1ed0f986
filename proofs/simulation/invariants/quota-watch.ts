import type { Change } from '../parts/store/memory-collection.ts'
import type { StoredQuota } from './files.ts'

/** The most open upload sessions of one sender (F4). */
const SESSIONS_MAX = 20
/** The most bytes that the files of these sessions have together (F4). */
export const UNFINISHED_BYTES_MAX = 100 * 1024 * 1024

/** What is wrong with one change of the quota of a sender: a file has one place at most, and the limits are kept. */
export function* quotaProblems({ key, after }: Change): Iterable<string> {
  const { places = [] } = (after ?? {}) as Partial<StoredQuota>
  const files = new Set(places.map(({ attachment_id }) => attachment_id))
  if (files.size < places.length) yield `a file has several places in the quota ${key}`
  if (places.length > SESSIONS_MAX) yield `the quota ${key} has ${places.length} sessions`
  const bytes = places.reduce((sum, { size_bytes }) => sum + size_bytes, 0)
  if (bytes > UNFINISHED_BYTES_MAX) yield `the quota ${key} has ${bytes} unfinished bytes`
}
