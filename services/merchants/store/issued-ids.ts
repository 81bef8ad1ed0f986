import { upsert } from '#lib/patterns/update.ts'
import type { Store } from '#lib/store/store.ts'

/** What numeric ids are issued for, each kind in a sequence of its own. */
export const ID_KINDS = ['merchant', 'credential', 'route'] as const

type IdKind = (typeof ID_KINDS)[number]

// Never raise these: readers assume that no id is lower.
const FIRST_ID = { merchant: 1_001, credential: 20_001, route: 30_001 } as const

/** Issues numeric ids in ascending order, across all processes of this service. */
export type IssuedIds = Awaited<ReturnType<typeof openIssuedIds>>

/**
 * Opens the collection of id sequences: one document per kind, which counts the issued ids. A process issues one id at a
 * time, so only processes compete for the document, and not all of their requests.
 */
export async function openIssuedIds(store: Store) {
  const sequences = await store.collection<{ kind: IdKind; issued: bigint }>({
    name: 'issued_ids',
    partition: ['kind'],
    key: ['kind'],
  })
  let last: Promise<unknown> = Promise.resolve()

  /** Leaves out the next `count` ids of a kind, and returns the last of them. */
  async function skip(kind: IdKind, count: bigint): Promise<number> {
    const sequence = await upsert(sequences, { kind }, (current) => ({
      kind,
      issued: (current?.issued ?? 0n) + count,
    }))
    return FIRST_ID[kind] + Number(sequence?.issued) - 1
  }

  return {
    skip,
    /** Issues the next id of a kind. No id is issued twice; a crash may leave one unused. */
    issue(kind: IdKind): Promise<number> {
      const issued = last.then(() => skip(kind, 1n))
      last = issued.catch(() => undefined)
      return issued
    },
    /** A range that contains every issued id, both ends included. `highest` is `lowest - 1` while none was issued. */
    async range(kind: IdKind): Promise<{ readonly lowest: number; readonly highest: number }> {
      const sequence = await sequences.get({ kind })
      const lowest = FIRST_ID[kind]
      return { lowest, highest: lowest + Number(sequence?.issued ?? 0n) - 1 }
    },
  }
}
