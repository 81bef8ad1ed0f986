import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { Fields, Range } from '#lib/store/store.ts'
import { rankMembers } from '../membership/membership.ts'

/** The parts into which the due work of a collection is divided. Stored documents name theirs, so it never changes. */
const SLOTS = 64

const ALL_SLOTS: readonly number[] = Array.from({ length: SLOTS }, (_, slot) => slot)

/** The slot of a document, by its key: the documents of one merchant are spread over all slots. */
export function slotOf(key: Fields): number {
  return Number.parseInt(sha256Hex(Object.values(key).join(' ')).slice(0, 4), 16) % SLOTS
}

/** The ranges of a due index between two times, in some slots: all of them unless given. */
export function dueRanges(times: Pick<Range, 'from' | 'to'>, slots = ALL_SLOTS): Range[] {
  return slots.map((slot) => ({ equals: [slot], ...times }))
}

/** How the slots are divided: the slots of this process, whose due work it takes at once, and the slots of the other processes. */
export interface SlotAssignment {
  readonly own: readonly number[]
  readonly others: readonly number[]
}

/** The slots of the only process. */
export const WHOLE_ASSIGNMENT: SlotAssignment = { own: ALL_SLOTS, others: [] }

const KNOWN_MAX = 32

/**
 * Makes the division of the slots among processes, as one of them sees it: each slot belongs to the first process of its ranking
 * that does not have its part yet, so no process has more than its part, rounded up. Views may differ for a moment, so the
 * division only saves conflicts.
 */
export function createDivision(self_address: string): (addresses: readonly string[]) => SlotAssignment {
  const known = new Map<string, SlotAssignment>()
  return (addresses) => {
    const name = addresses.join()
    const assignment = known.get(name) ?? divide(self_address, addresses)
    if (!known.has(name)) {
      if (known.size === KNOWN_MAX) known.clear()
      known.set(name, assignment)
    }
    return assignment
  }
}

function divide(self_address: string, addresses: readonly string[]): SlotAssignment {
  const slots_max = Math.ceil(SLOTS / addresses.length)
  const counts = new Map<string, number>()
  const is_own = ALL_SLOTS.map((slot) => {
    const owner = rankMembers(`${slot}`, addresses).find((address) => (counts.get(address) ?? 0) < slots_max)
    if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 0) + 1)
    return owner === self_address
  })
  return {
    own: ALL_SLOTS.filter((slot) => is_own[slot]),
    others: ALL_SLOTS.filter((slot) => !is_own[slot]),
  }
}
