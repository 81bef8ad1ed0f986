import type { Change } from '../parts/store/memory-collection.ts'
import type { StoredFile } from './files.ts'

/** What a file may become in one change; it may also stay as it is. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  awaiting_upload: ['uploaded', 'expired'],
  uploaded: ['scanning', 'rejected', 'expired'],
  scanning: ['ready', 'rejected'],
  ready: ['expired'],
}

/** What is wrong with one change of a file. `clean` has the digests of all bytes that the scanner has found clean. */
export function* fileProblems({ key, before, after }: Change, clean: ReadonlySet<string>): Iterable<string> {
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
  if (old?.claim !== undefined && next.claim !== undefined && old.claim.owner !== next.claim.owner)
    yield `the file ${key} went from ${old.claim.owner} to ${next.claim.owner}`
}
