import { randomFraction } from '#lib/base/crypto/random.ts'
import { every, now } from '#lib/base/time.ts'
import type { Collection, Range, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { createBackgroundWork } from './background-work.ts'
import type { ClockGuard } from './clock-guard.ts'

interface DueVisitor<D> {
  /** Handles one document. A failure is logged; a later walk repeats the visit. */
  readonly visit: (document: Stored<D>) => Promise<void>
  /** Whether more documents may be visited. Without room nothing is read. */
  readonly hasRoom: () => boolean
  /** What is due: everything before the present unless given. */
  readonly rangeOf?: () => Range | readonly Range[]
  readonly page_size?: number
  /** How many documents are visited at once. */
  readonly concurrency?: number
}

const PAGE_SIZE = 256
/** The pages of one walk, so that a long backlog of documents that cannot be handled costs a bounded number of reads. */
const PAGES_MAX = 4
const CONCURRENCY = 32

/**
 * Makes the walk through the documents that are due in an index. Each call visits some pages and begins after the last
 * document of the previous call, so that documents which stay due hide nothing behind them. It begins with the longest
 * due again when the end is reached, or when there was no room. The documents of a page are visited in random order,
 * because several processes read the same page. A call returns whether it has reached the end.
 */
export function createDueWalk<D extends object>(
  collection: Collection<D>,
  index: string,
  {
    visit,
    hasRoom,
    rangeOf = () => ({ to: now() }),
    page_size = PAGE_SIZE,
    concurrency = CONCURRENCY,
  }: DueVisitor<D>,
): () => Promise<boolean> {
  let after: Stored<D> | undefined
  return async () => {
    for (let page = 0; page < PAGES_MAX; page += 1) {
      if (!hasRoom()) {
        after = undefined
        return false
      }
      const due = await collection.find(index, rangeOf(), { limit: page_size, after: after && { ...after } })
      after = due.length < page_size ? undefined : due.at(-1)
      await visitAll(due, { visit, hasRoom, concurrency })
      if (!after) return true
    }
    return false
  }
}

/** Visits due documents in random order, while there is room. Never rejects. */
export async function visitAll<D extends object>(
  due: readonly Stored<D>[],
  { visit, hasRoom, concurrency = CONCURRENCY }: Omit<DueVisitor<D>, 'rangeOf' | 'page_size'>,
): Promise<void> {
  const queue = shuffled(due).values()
  async function visitNext(): Promise<void> {
    while (hasRoom()) {
      const { value, done } = queue.next()
      if (done) return
      try {
        await visit(value)
      } catch (error) {
        log.warn({ error }, 'visit of a due document failed; a later sweep repeats it')
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, visitNext))
}

/**
 * Repeats a walk at an interval, while the clock can be trusted. `failure` is what the log says when the documents cannot be
 * read. `stop` begins no further visit, and resolves when the walk in progress has ended.
 */
export function startDueWalk<D extends object>(
  collection: Collection<D>,
  index: string,
  {
    hasRoom = () => true,
    clock_guard,
    interval_ms,
    failure,
    ...visitor
  }: Omit<DueVisitor<D>, 'hasRoom'> &
    Partial<Pick<DueVisitor<D>, 'hasRoom'>> & {
      readonly clock_guard: ClockGuard
      readonly interval_ms: number
      readonly failure: string
    },
): { stop(): Promise<void> } {
  let is_stopping = false
  const walk = createDueWalk(collection, index, {
    ...visitor,
    hasRoom: () => !is_stopping && hasRoom() && clock_guard.isTrusted(),
  })
  const background = createBackgroundWork()
  const onError = (error: unknown): void => log.warn({ error }, failure)
  const timer = every(interval_ms, () => background.track(walk(), onError), onError)
  return {
    async stop() {
      is_stopping = true
      timer.cancel()
      await background.ended()
    },
  }
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: randomFraction() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item)
}
