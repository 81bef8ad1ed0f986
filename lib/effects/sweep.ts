import { randomFraction } from '#lib/crypto/random.ts'
import type { Collection, Stored } from '#lib/store/port.ts'
import { log } from '#lib/telemetry/log.ts'
import { now } from '#lib/time.ts'

const PAGE = 256
const PAGES_MAX = 16
const CONCURRENCY = 32

/**
 * Visits documents that are due in an index, at most `room` of them. Several sweepers look at the same page, so each
 * visits it in an order of its own. A visit that fails is logged and met again by the next sweep.
 */
export async function sweep<D extends object>(
  collection: Collection<D>,
  index: string,
  room: number,
  visit: (document: Stored<D>) => Promise<void>,
): Promise<void> {
  let left = room
  let after: Stored<D> | undefined
  for (let page = 0; page < PAGES_MAX && left > 0; page++) {
    const limit = Math.min(PAGE, left)
    const due = await collection.find(index, { to: now() }, { limit, ...(after ? { after } : {}) })
    after = due.at(-1)
    left -= due.length
    await visitAll(shuffled(due), visit)
    if (due.length < limit) return
  }
}

async function visitAll<D>(documents: readonly D[], visit: (document: D) => Promise<void>): Promise<void> {
  const queue = documents.values()
  const work = async (): Promise<void> => {
    for (const document of queue) {
      await visit(document).catch((error: unknown) =>
        log.warn({ error }, 'a due document could not be visited'),
      )
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: randomFraction() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item)
}
