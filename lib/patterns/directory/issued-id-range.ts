import type { ListChangesResponse } from '#gen/multihub/merchants/v1/directory_service_pb.ts'

/** So many numbers beyond the last one that is known may have been given since: of those, each has to be read. */
const AHEAD_MAX = 1_000

/**
 * Which application ids can name a credential at all. Merchants gives numbers in order, so strangers who try others
 * need not cost it a read each.
 */
export interface IssuedIdRange {
  /** Takes what an answer about changes says. The last number only rises: answers may overtake each other. */
  update(response: Pick<ListChangesResponse, 'lowestApplicationId' | 'highestApplicationId'>): void
  /** Takes the id of a credential that there is. */
  include(application_id: string): void
  mayContain(application_id: string): boolean
}

/**
 * Knows nothing at first, and again while `isTrusted` says that what was told is too old, or when an answer came from
 * a version of merchants that does not tell: then any number may exist.
 */
export function createIssuedIdRange(isTrusted: () => boolean): IssuedIdRange {
  let given: { lowest: number; highest: number } | undefined

  return {
    update(response) {
      const highest = Number(response.highestApplicationId)
      const lowest = Number(response.lowestApplicationId)
      given = highest === 0 ? undefined : { lowest, highest: Math.max(highest, given?.highest ?? 0) }
    },
    include(application_id) {
      const number = Number(application_id)
      if (given && number > given.highest) given.highest = number
    },
    mayContain(application_id) {
      if (!given || !isTrusted()) return true
      const number = Number(application_id)
      return number >= given.lowest && number <= given.highest + AHEAD_MAX
    },
  }
}
