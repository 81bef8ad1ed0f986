import { randomFraction } from '#lib/platform/crypto/random.ts'
import type { Collection, Stored } from '#lib/platform/store/store.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { now } from '#lib/platform/time.ts'

const PAGE_SIZE = 256
const PAGES_MAX = 16
const CONCURRENCY = 32

/**
 * Visits documents that are due in an index until `max` visits did work, which `visit` reports by returning true. Other
 * visits do not count, so that they hide nothing after them. The documents of a page are visited in random order,
 * because several processes read the same page. A failed visit is logged; the next sweep repeats it.
 */
export async function visitDue<D extends object>(
  collection: Collection<D>,
  index: string,
  max: number,
  visit: (document: Stored<D>) => Promise<boolean>,
): Promise<void> {
  let visits_left = max
  let after: Stored<D> | undefined
  const visitFrom = async (queue: Iterator<Stored<D>>): Promise<void> => {
    while (visits_left > 0) {
      const { value, done } = queue.next()
      if (done) return
      visits_left -= 1
      if (!(await visitAndLog(value, visit))) visits_left += 1
    }
  }
  for (let page = 0; page < PAGES_MAX && visits_left > 0; page++) {
    const due = await collection.find(index, { to: now() }, { limit: PAGE_SIZE, ...(after ? { after } : {}) })
    after = due.at(-1)
    const queue = shuffled(due).values()
    await Promise.all(Array.from({ length: CONCURRENCY }, () => visitFrom(queue)))
    if (due.length < PAGE_SIZE) return
  }
}

async function visitAndLog<D>(document: D, visit: (document: D) => Promise<boolean>): Promise<boolean> {
  try {
    return await visit(document)
  } catch (error) {
    log.warn({ error }, 'visit of a due document failed; the next sweep repeats it')
    return false
  }
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: randomFraction() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item)
}
