import type { Store } from '#lib/platform/store/port.ts'

/** What numeric ids are issued for. Each kind has its own sequence. */
export type IdKind = 'merchant' | 'application' | 'service'

/** A range that contains every issued id, both ends included. `highest` is `lowest - 1` while none was issued. */
export interface IdRange {
  readonly lowest: number
  readonly highest: number
}

/** Issues numeric ids in ascending order, across all processes of this service. */
export interface IssuedIds {
  /** Issues the next id of a kind. No id is issued twice; a crash may leave one unused. */
  issue(kind: IdKind): Promise<number>
  /** The range of the ids that were issued so far. */
  range(kind: IdKind): Promise<IdRange>
}

// Never raise these: readers assume that no id is lower.
const FIRST_ID = { merchant: 1_001, application: 20_001, service: 30_001 } as const

/** Opens the collection of id sequences: one document per kind, which counts the ids that were issued. */
export async function openIssuedIds(store: Store): Promise<IssuedIds> {
  const sequences = await store.collection<{ kind: IdKind; issued: bigint }>({
    name: 'issued_ids',
    partition: ['kind'],
    key: ['kind'],
  })
  return {
    async issue(kind) {
      const { value } = await sequences.increment({ kind }, 'issued', 1n)
      return FIRST_ID[kind] + Number(value) - 1
    },
    async range(kind) {
      const sequence = await sequences.get({ kind })
      const lowest = FIRST_ID[kind]
      return { lowest, highest: lowest + Number(sequence?.issued ?? 0n) - 1 }
    },
  }
}
