import { sleep } from '#lib/base/time.ts'

const TRIES_MAX = 30
const PAUSE_MS = 1_000

/** Reads all pages of a list, each with `retry`. */
export async function readAll<T>(
  readPage: (page_token: string) => Promise<{ readonly items: readonly T[]; readonly nextPageToken: string }>,
): Promise<readonly T[]> {
  const all: T[] = []
  let page_token = ''
  do {
    const { items, nextPageToken } = await retry(() => readPage(page_token))
    all.push(...items)
    page_token = nextPageToken
  } while (page_token !== '')
  return all
}

/** Calls `action` for every item, several at a time, and returns the results in order. */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  action: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = []
  const queue = items.entries()
  const work = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await action(item)
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return results
}

/**
 * Repeats a call of the system for half a minute while it fails, because a slow machine may need that long after the last
 * fault. A call that changes something may happen several times.
 */
export async function retry<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call()
    } catch (error) {
      if (tries === TRIES_MAX) throw error
      await sleep(PAUSE_MS)
    }
  }
}
