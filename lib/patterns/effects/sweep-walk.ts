import { now } from '#lib/base/time.ts'
import { Conflict } from '#lib/store/errors.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { createDueWalk, visitAll } from '../due-walk.ts'
import type { EffectDocument, Lane } from './effect.ts'
import { dueRanges, type SlotAssignment } from './slots.ts'

// One sweep of a process:
//
//   first page: own slots, and what is overdue in the others ──▶ not full: it is all that this process may take
//                                                            └─▶ full: the own slots to their end,
//                                                                then what is overdue in the others

interface SweepVisitor<D> {
  /** Handles one document. Throws `Conflict` when another process was faster. */
  readonly visit: (document: Stored<D>) => Promise<void>
  readonly hasRoom: () => boolean
  readonly assignment: () => SlotAssignment
}

/** How long what is due in the slots of another process is left to it. */
const OVERDUE_MS = 2_000
/** The first page costs at most this when other processes have a backlog. */
const FIRST_PAGE_SIZE = 16
/** Few at once, because all processes that have room take the work of a process that is dead or full. */
const OTHERS_CONCURRENCY = 4

/**
 * Makes the walk of one lane. It takes the due work of the own slots, and work in the slots of other processes when that is overdue,
 * which shows that its owner is dead or has no room. A process that finds another one there leaves the rest to it until the next walk.
 * Without due work a walk is one command.
 */
export function createSweepWalk<D extends EffectDocument>(
  collection: Collection<D>,
  lane: Lane,
  { visit, hasRoom, assignment }: SweepVisitor<D>,
): () => Promise<void> {
  const index = `by_${lane}_slot`
  let met_another = false
  /** The slots of one walk: a heartbeat can change them meanwhile, and no slots are no ranges. */
  let { own, others } = assignment()

  const dueNow = () => dueRanges({ to: now() }, own)
  const overdue = () => dueRanges({ to: new Date(now().getTime() - OVERDUE_MS) }, others)
  const visitOwn = {
    hasRoom,
    visit: (document: Stored<D>) => visit(document).catch(ignoreConflict),
  }
  const visitOthers = {
    hasRoom: () => !met_another && hasRoom(),
    concurrency: OTHERS_CONCURRENCY,
    visit: (document: Stored<D>) =>
      visit(document).catch((error: unknown) => {
        ignoreConflict(error)
        met_another = true
      }),
  }
  const walkOwn = createDueWalk(collection, index, { ...visitOwn, rangeOf: dueNow })
  const walkOthers = createDueWalk(collection, index, {
    ...visitOthers,
    rangeOf: overdue,
    page_size: FIRST_PAGE_SIZE,
  })

  return async () => {
    if (!hasRoom()) return
    met_another = false
    ;({ own, others } = assignment())
    const first = await collection.find(index, [...dueNow(), ...overdue()], { limit: FIRST_PAGE_SIZE })
    if (first.length < FIRST_PAGE_SIZE) {
      const { own: mine = [], others: left = [] } = Object.groupBy(first, ({ slot = 0 }) =>
        own.includes(slot) ? 'own' : 'others',
      )
      await visitAll(mine, visitOwn)
      await visitAll(left, visitOthers)
      return
    }
    if (own.length > 0 && !(await walkOwn())) return
    if (others.length > 0) await walkOthers()
  }
}

function ignoreConflict(error: unknown): void {
  if (!(error instanceof Conflict)) throw error
}
