import { upsert } from '#lib/patterns/update.ts'
import type { Store } from '#lib/store/store.ts'

/** All kinds of numeric ids. */
export const ID_KINDS = ['merchant', 'credential', 'route'] as const

/** What numeric ids are issued for. Each kind has its own sequence. */
export type IdKind = (typeof ID_KINDS)[number]

/** A range that contains every issued id, both ends included. `highest` is `lowest - 1` while none was issued. */
export interface IdRange {
  readonly lowest: number
  readonly highest: number
}

/** Issues numeric ids in ascending order, across all processes of this service. */
export interface IssuedIds {
  /** Issues the next id of a kind. No id is issued twice; a crash may leave one unused. */
  issue(kind: IdKind): Promise<number>
  /** Leaves out the next `count` ids of a kind. */
  skip(kind: IdKind, count: bigint): Promise<void>
  /** The range of the ids that were issued so far. */
  range(kind: IdKind): Promise<IdRange>
}

// Never raise these: readers assume that no id is lower.
const FIRST_ID = { merchant: 1_001, credential: 20_001, route: 30_001 } as const

/**
 * Opens the collection of id sequences: one document per kind, which counts the issued ids. A process issues one id at a
 * time, so only processes compete for the document, and not all of their requests.
 */
export async function openIssuedIds(store: Store): Promise<IssuedIds> {
  const sequences = await store.collection<{ kind: IdKind; issued: bigint }>({
    name: 'issued_ids',
    partition: ['kind'],
    key: ['kind'],
  })
  let last: Promise<unknown> = Promise.resolve()

  async function issueNext(kind: IdKind): Promise<number> {
    const sequence = await upsert(sequences, { kind }, (current) => ({
      kind,
      issued: (current?.issued ?? 0n) + 1n,
    }))
    return FIRST_ID[kind] + Number(sequence?.issued) - 1
  }

  return {
    issue(kind) {
      const issued = last.then(() => issueNext(kind))
      last = issued.catch(() => undefined)
      return issued
    },
    async skip(kind, count) {
      await upsert(sequences, { kind }, (current) => ({ kind, issued: (current?.issued ?? 0n) + count }))
    },
    async range(kind) {
      const sequence = await sequences.get({ kind })
      const lowest = FIRST_ID[kind]
      return { lowest, highest: lowest + Number(sequence?.issued ?? 0n) - 1 }
    },
  }
}
