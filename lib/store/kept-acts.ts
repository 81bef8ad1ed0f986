import { currentAct, withoutAct } from '#lib/base/context.ts'
import { type DocumentChange, documentChange, joinChanges } from './document-change.ts'
import { Conflict } from './errors.ts'
import { keyOf } from './lookup.ts'
import type { Collection, CollectionSpec, Store, Stored } from './store.ts'

// An act of the operator leaves its `audit_id` in each document that it changes, in the very write of the change (O4):
//
//   back office ──x-multihub-audit──▶ request context ──▶ insert, replace ──▶ { …, act_ids, act_changes }
//
// No use case does anything for it. A collection takes part when its declaration has `ACT_INDEX`.

/** The last acts of a document. The two lists belong together; the newest act is the last one. */
interface ActFields {
  readonly act_ids?: readonly string[]
  /** Each a `DocumentChange` as JSON. */
  readonly act_changes?: readonly string[]
}

/** How many acts a document keeps. */
const ACTS_MAX = 8

/** The index that makes a collection keep acts. Documents that no operator has touched are not in it, and cost nothing. */
export const ACT_INDEX = {
  by_act: { fields: ['act_ids[]'], where: 'act_ids', across_partitions: true },
} as const satisfies CollectionSpec['indexes']

/** What an act has changed, as JSON: for each document by its name, such as `routes 12`, the fields. */
export interface KeptAct {
  readonly before: string
  readonly after: string
}

/** Documents of one act and collection that are shown. An act that changes more of them says so in its answer. */
const DOCUMENTS_SHOWN_MAX = 4

interface KeepingCollection {
  readonly spec: CollectionSpec
  readonly find: Collection<ActFields & object>['find']
}

/**
 * Wraps the store of an owner so that every collection with `ACT_INDEX` keeps the acts that change it, and gives the look-up of an
 * act. What the request of an act changes later and in the background, such as its effects, is not part of the act. Nor is a write
 * that changes only `refusal_fields`, in which an owner remembers what it has refused: a refused act was not done.
 */
export function keepActs(
  store: Store,
  refusal_fields: readonly string[] = [],
): {
  readonly store: Store
  readonly findAct: (audit_id: string) => Promise<KeptAct | undefined>
} {
  const collections: KeepingCollection[] = []
  return {
    store: {
      ...store,
      async collection<D extends object>(spec: CollectionSpec) {
        const collection = await store.collection<D>(spec)
        if (spec.indexes?.['by_act'] === undefined) return collection
        // Every document can have the fields of acts.
        collections.push({ spec, find: (collection as unknown as KeepingCollection).find })
        return withActs(spec, collection, refusal_fields)
      },
    },
    async findAct(audit_id) {
      const found = await Promise.all(
        collections.map(async ({ spec, find }) => {
          const documents = await find('by_act', { equals: [audit_id] }, { limit: DOCUMENTS_SHOWN_MAX })
          return documents.map((document) => [nameOf(spec, document), changeOf(document, audit_id)] as const)
        }),
      )
      const changes = found.flat()
      if (changes.length === 0) return undefined
      const side = (which: keyof DocumentChange): string =>
        JSON.stringify(
          Object.fromEntries(
            changes.flatMap(([name, change]) =>
              change === undefined || Object.keys(change[which]).length === 0 ? [] : [[name, change[which]]],
            ),
          ),
        )
      return { before: side('before'), after: side('after') }
    },
  }
}

/** A collection whose writes belong to no act: what a process writes for its own work, such as its leases. */
export function outsideOfActs<D extends object>(collection: Collection<D>): Collection<D> {
  return {
    ...collection,
    insert: (document, options) => withoutAct(() => collection.insert(document, options)),
    replace: (document, expected_version) => withoutAct(() => collection.replace(document, expected_version)),
  }
}

function withActs<D extends object>(
  spec: CollectionSpec,
  collection: Collection<D>,
  refusal_fields: readonly string[],
): Collection<D> {
  const keyOfDocument = keyOf(spec)
  return {
    ...collection,
    insert(document, options) {
      const audit_id = currentAct()
      return collection.insert(
        audit_id === undefined
          ? document
          : withAct(document, audit_id, undefined, documentChange(undefined, document)),
        options,
      )
    },
    async replace(document, expected_version) {
      const audit_id = currentAct()
      if (audit_id === undefined) return await collection.replace(document, expected_version)
      // Only the document of that version is replaced, so this is exactly what was there before.
      const before = await collection.get(keyOfDocument(document as never))
      if (before?.version !== expected_version) throw new Conflict(`${spec.name}: changed before an act`)
      const change = documentChange(before, document)
      const is_refusal = isOnly(change, refusal_fields)
      return await collection.replace(
        is_refusal ? document : withAct(document, audit_id, before, change),
        expected_version,
      )
    },
  }
}

/** Whether a change has some of the fields, and no others. */
function isOnly({ before, after }: DocumentChange, fields: readonly string[]): boolean {
  const changed = [...Object.keys(before), ...Object.keys(after)]
  return changed.length > 0 && changed.every((field) => fields.includes(field))
}

function withAct<D extends object>(
  document: D,
  audit_id: string,
  before: Stored<D> | undefined,
  change: DocumentChange,
): D {
  const { act_ids = [], act_changes = [] }: ActFields & object = before ?? {}
  const earlier = before && changeOf(before, audit_id)
  const others = act_ids.flatMap((id, at) => (id === audit_id ? [] : [{ id, json: act_changes[at] ?? '{}' }]))
  const json = JSON.stringify(earlier === undefined ? change : joinChanges(earlier, change))
  const acts = [...others, { id: audit_id, json }].slice(-ACTS_MAX)
  return { ...document, act_ids: acts.map(({ id }) => id), act_changes: acts.map((act) => act.json) }
}

function changeOf(
  { act_ids = [], act_changes = [] }: ActFields & object,
  audit_id: string,
): DocumentChange | undefined {
  const json = act_changes[act_ids.indexOf(audit_id)]
  // Only `withAct` writes it.
  return json === undefined ? undefined : (JSON.parse(json) as DocumentChange)
}

/** The name of a document for people: its collection, and the last field of its key. */
function nameOf({ name, key }: CollectionSpec, document: object): string {
  return `${name} ${String(Reflect.get(document, key.at(-1) ?? ''))}`
}
