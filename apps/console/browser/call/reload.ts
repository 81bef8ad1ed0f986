import { delay, nowMs } from './machine.ts'

/** How long the page is loaded again while a file is missing: an update replaces the last server within this time. */
const RETRY_MS = 30_000
const RETRY_EVERY_MS = 1_000

/**
 * Loads files of this release. During an update another server may have other files: then the whole page is loaded again, with
 * whatever release it comes from, for at most 30 s. `what` names the files, so that each has its own 30 s.
 */
export async function loadOrReload<T>(what: string, load: () => Promise<T>): Promise<T> {
  const key = `multihub-missing-since:${what}`
  try {
    const loaded = await load()
    sessionStorage.removeItem(key)
    return loaded
  } catch (error) {
    const since_ms = Number(sessionStorage.getItem(key) ?? nowMs())
    if (nowMs() - since_ms > RETRY_MS) {
      sessionStorage.removeItem(key)
      throw error
    }
    sessionStorage.setItem(key, String(since_ms))
    await delay(RETRY_EVERY_MS)
    location.reload()
    return new Promise(() => undefined)
  }
}
