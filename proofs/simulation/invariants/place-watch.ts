import type { Change } from '../parts/store/memory-collection.ts'
import type { StoredFile, StoredQuota } from './files.ts'

/** What is wrong with the places of files in the quotas of their senders (F4). */
export interface PlaceWatch {
  onFile(change: Change): Iterable<string>
  onQuota(change: Change): Iterable<string>
}

/** The statuses in which a file needs the place that was kept for it. */
const NEEDS_PLACE = ['uploaded', 'scanning']

/** Makes the watch of places: a file is scanned only with a kept place, and keeps it until the scan has ended. */
export function createPlaceWatch(): PlaceWatch {
  const statuses = new Map<string, string>()
  const kept = new Set<string>()
  return {
    *onFile({ after }) {
      const file = after as unknown as StoredFile | undefined
      if (file === undefined) return
      const { attachment_id, status } = file
      statuses.set(attachment_id, status)
      if (status === 'scanning' && !kept.has(attachment_id))
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
