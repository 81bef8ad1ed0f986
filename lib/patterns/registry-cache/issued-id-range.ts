import type { ListChangesResponse } from '#gen/multihub/merchants/v1/registry_service_pb.ts'

/** The merchants service may have issued this many more ids since the last response, so these ids are read. */
const AHEAD_MAX = 1_000

/**
 * The range of application ids that the merchants service has issued. Ids are issued in order, so an id outside the
 * range names no credential, and a client that guesses ids causes no reads.
 */
export interface IssuedIdRange {
  /** Takes the range from a response. The highest id never falls, because responses can arrive out of order. */
  update(response: Pick<ListChangesResponse, 'lowestApplicationId' | 'highestApplicationId'>): void
  /** Extends the range to the id of an existing credential. */
  include(application_id: string): void
  /** Whether the id may name a credential. `true` while the range is unknown. */
  mayContain(application_id: string): boolean
}

/**
 * Creates a range that is unknown at first, while `isConfirmed` says that the last response is too old, and after a
 * response of a version of the merchants service that sends no range.
 */
export function createIssuedIdRange(isConfirmed: () => boolean): IssuedIdRange {
  let range: { lowest: number; highest: number } | undefined

  return {
    update(response) {
      const highest = Number(response.highestApplicationId)
      const lowest = Number(response.lowestApplicationId)
      range = highest === 0 ? undefined : { lowest, highest: Math.max(highest, range?.highest ?? 0) }
    },
    include(application_id) {
      const number = Number(application_id)
      if (range && number > range.highest) range.highest = number
    },
    mayContain(application_id) {
      if (!range || !isConfirmed()) return true
      const number = Number(application_id)
      return number >= range.lowest && number <= range.highest + AHEAD_MAX
    },
  }
}
