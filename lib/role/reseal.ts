import type { Keyring } from '#lib/base/crypto/keyring.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import type { ReadDocuments, ResealCount } from './operations.ts'

/** Documents with sealed texts. */
export interface SealedDocuments<D extends object> {
  readonly spec: CollectionSpec
  /** The document with its sealed texts after `reseal`; the same document when none of them changed. Pure but for that. */
  change(document: D, reseal: Keyring['reseal']): D
  /** Applies `decide` to the stored document in a guarded write; `undefined` from it means "no change". */
  update(document: D, decide: (current: D) => D | undefined): Promise<unknown>
}

/** The most failures that are kept: they name documents for the operator, who needs the key and not the list. */
const FAILURES_MAX = 100

/**
 * Encrypts the secrets of a collection again that are not under the newest master key. It can be interrupted anywhere and
 * repeated, and the documents can be changed meanwhile.
 */
export async function resealDocuments<D extends object>(
  { readDocuments, keyring }: { readonly readDocuments: ReadDocuments; readonly keyring: Keyring },
  { spec, change, update }: SealedDocuments<D>,
): Promise<ResealCount> {
  let [read, changed, left] = [0, 0, 0]
  const failures: string[] = []
  const resealed = (document: D): D | undefined => {
    const next = change(document, keyring.reseal)
    return next === document ? undefined : next
  }
  for await (const document of readDocuments<D>(spec)) {
    read += 1
    try {
      if (resealed(document) === undefined) continue
    } catch (error) {
      left += 1
      const reason = error instanceof Error ? error.message : 'not readable'
      if (failures.length < FAILURES_MAX) failures.push(`${nameOf(spec, document)}: ${reason}`)
      continue
    }
    await update(document, resealed)
    changed += 1
  }
  return { collection: spec.name, read, changed, left, failures }
}

/** The document in a message: its collection and its key. */
function nameOf({ name, key }: CollectionSpec, document: object): string {
  const fields: Readonly<Record<string, unknown>> = { ...document }
  return [name, ...key.map((field) => String(fields[field]))].join(' ')
}
