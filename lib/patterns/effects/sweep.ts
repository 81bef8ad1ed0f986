import { randomFraction } from '#lib/platform/crypto/random.ts'
import type { Collection, Stored } from '#lib/platform/store/port.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { now } from '#lib/platform/time.ts'

const PAGE = 256
const PAGES_MAX = 16
const CONCURRENCY = 32

/**
 * Visits documents that are due in an index until `room` of them were taken: `visit` says whether it took one. What is
 * not for us takes no room, so that it hides nothing behind it. Several sweepers look at the same page, so each visits
 * it in an order of its own. A visit that fails is logged and met again by the next sweep.
 */
export async function sweep<D extends object>(
  collection: Collection<D>,
  index: string,
  room: number,
  visit: (document: Stored<D>) => Promise<boolean>,
): Promise<void> {
  let left = room
  let after: Stored<D> | undefined
  const visitSome = async (queue: Iterator<Stored<D>>): Promise<void> => {
    while (left > 0) {
      const { value, done } = queue.next()
      if (done) return
      left -= 1
      if (!(await visited(value, visit))) left += 1
    }
  }
  for (let page = 0; page < PAGES_MAX && left > 0; page++) {
    const due = await collection.find(index, { to: now() }, { limit: PAGE, ...(after ? { after } : {}) })
    after = due.at(-1)
    const queue = shuffled(due).values()
    await Promise.all(Array.from({ length: CONCURRENCY }, () => visitSome(queue)))
    if (due.length < PAGE) return
  }
}

async function visited<D>(document: D, visit: (document: D) => Promise<boolean>): Promise<boolean> {
  try {
    return await visit(document)
  } catch (error) {
    log.warn({ error }, 'a due document could not be visited')
    return false
  }
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: randomFraction() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item)
}
