import { keyIdOf } from '#lib/base/crypto/keyring.ts'
import type { Keys } from '#lib/base/crypto/keys.ts'
import { type PersonSealer, personKeyIdOf } from '#lib/base/crypto/person-seal.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import type { Erasures } from '#lib/patterns/erasures.ts'
import type { SignStub } from '#lib/store/archive/archived-document.ts'
import type { CollectionSpec, Store, Stored } from '#lib/store/store.ts'
import type { CheckContext, EnvironmentCheck } from './environment-check.ts'
import type { Finding, Requirement } from './requirement.ts'
import type { RoleName } from './role.ts'

/** Reads all documents of a collection, in the order of their keys. */
export type ReadDocuments = <D extends object>(spec: CollectionSpec) => AsyncIterable<D>

/** Which requirements are listed. */
export interface RequirementOptions {
  /** Gets the reason for each document that cannot be read. */
  readonly onUnreadable?: (reason: string) => void
  /** Leaves out archived documents from before this instant. */
  readonly archived_since?: Date | undefined
}

/** The check of what a role has stored. Only `adopt` writes; the others hold also while the system works. */
export interface DataCheck {
  /** What is wrong within the database of the role, one sentence per problem. */
  findProblems?(): AsyncIterable<string>
  /** What the role has written to the log, and no longer has stored, one sentence per problem. */
  compareWithLog?(lines: AsyncIterable<string>): AsyncIterable<string>
  /** What other roles must have, because documents of this role say so. Goes on after a document that cannot be read. */
  listRequirements?(options?: RequirementOptions): AsyncIterable<Requirement>
  /** Whether the role has what another one requires, or may have deleted it since, and whether it agrees with the claim. */
  find?(requirement: Requirement): Promise<Finding>
  /**
   * Changes a document, restored from a backup that read this role earlier, so that it agrees with the claim of a role that
   * was read later. Returns whether it agrees now. No process of the role runs. A repetition changes nothing.
   */
  adopt?(requirement: Requirement): Promise<boolean>
  /** Whether an endpoint that has not changed since `at` gets the `event`. Later changes prove nothing. */
  subscribes?(requirement: Requirement): Promise<boolean>
}

/** What resealing the documents of a collection came to. */
export interface ResealCount {
  readonly collection: string
  readonly read: number
  /** Documents whose secrets were encrypted again. */
  readonly changed: number
  /** The documents with secrets by the id of their key, as they are now. */
  readonly by_key: Readonly<Record<string, number>>
  /** The number of documents with a secret that cannot be decrypted. */
  readonly left: number
  /** Some of those documents, each with the reason. */
  readonly failures: readonly string[]
}

/** The keys that an erasure after a restore needs. */
export type ErasureKeys = Keys<'person' | 'search'>

/** The keys that the checks of stored data need. */
export type CheckKeys = Keys<'credential' | 'journal' | 'audit'>

/** The purposes of the keys under which databases have something sealed or hashed, for `reseal`. */
export const RESEAL_PURPOSES = ['credential', 'endpoint', 'webhook', 'person', 'search'] as const

/** The keys of `reseal`. */
export type ResealKeys = Keys<(typeof RESEAL_PURPOSES)[number]>

/** A collection of a role whose documents can be archived. */
export interface Archivable {
  /** A declaration with `archive`. */
  readonly spec: CollectionSpec
  /**
   * The documents, as they are stored, whose bodies may be moved to files: all that ended before an instant, and that nothing changes by
   * itself. They are replaced while the list goes on. With the keys, signed documents are verified before.
   */
  list(store: Store, before: Date, keys: Keys<'journal'>): AsyncIterable<Stored<object>>
  /** What signs the stubs, where what stays of a document must be proved also while its body is away. */
  signWith?(keys: Keys<'journal'>): SignStub
}

/** What the commands of an installation (`migrate`, `backup`, `restore`, `verify`, `reseal`, `archive`, `doctor`) need of a role. */
export interface RoleOperations {
  readonly name: RoleName
  /** Opens every collection of the role's database, which creates them where the store may. */
  openCollections(store: Store): Promise<unknown>
  /** What `archive` can move to files. */
  readonly archives?: readonly Archivable[]
  /** Weighs the ranges of its collection that has them by what was inserted since an instant. */
  weighRanges?(
    store: Store,
    since: Date,
  ): Promise<{ readonly spec: CollectionSpec; readonly weights: readonly number[] }>
  /**
   * What becomes of a document of a collection when it is restored: it is older than what the world knows of it (P19). `undefined`
   * for one that must not come back.
   */
  restoreDocument?(collection: string, document: object): object | undefined
  /**
   * Opens the check whether a restored document names the bytes of an id. Others are left out: they are copied after the documents, so
   * some are of uploads that the documents do not know, and nothing would ever delete them.
   */
  openBlobCheck?(store: Store): Promise<(id: string) => Promise<boolean>>
  /**
   * Erases again, after a restore, what a list says was erased since the backup (O11). What is open again is marked, so that it is
   * erased when it ends. The role is not running. Returns the number of documents that it changed.
   */
  erase?(store: Store, readDocuments: ReadDocuments, erasures: Erasures, keys: ErasureKeys): Promise<number>
  /**
   * Changes what was restored from a backup so that the role can go on with it. No role is running, and all databases are
   * filled.
   */
  afterRestore?(store: Store): Promise<void>
  /** Opens the check of what the role has stored. `variables` are the environment of the process. */
  checkData?(
    store: Store,
    readDocuments: ReadDocuments,
    variables: Readonly<Record<string, string | undefined>>,
    keys: CheckKeys,
  ): Promise<DataCheck>
  /** Encrypts the stored secrets again that are not under the active key. The role may be running. */
  reseal?(store: Store, readDocuments: ReadDocuments, keys: ResealKeys): AsyncIterable<ResealCount>
  /** Throws `StartError` when the role has documents under keys, and none of them under one of these. */
  checkSigner?(readDocuments: ReadDocuments, signer: Signer): Promise<void>
  /** Throws `StartError` when what the role has stored was encrypted under other keys. */
  checkKeys?(store: Store, keys: Keys<'credential'>): Promise<void>
  /** What only this role needs in its environment, for `doctor`. Throws `ConfigError` for settings that cannot be read. */
  environmentChecks?(context: CheckContext): readonly EnvironmentCheck[]
}

/** Encrypts a sealed text of a purpose again under the active key; the same text if nothing is to be done. */
export type Reseal = (purpose: 'credential' | 'endpoint' | 'webhook', sealed: string, owner: string) => string

interface SealedDocuments<D extends object> {
  readonly spec: CollectionSpec
  /** The document with its sealed texts after `reseal`, and its persons after `person.reseal`; the same document without a change. */
  change(document: D, reseal: Reseal, person: Pick<PersonSealer, 'reseal'>): D
  /** Applies `decide` to the stored document in a guarded write; `undefined` from it means "no change". */
  update(document: D, decide: (current: D) => D | undefined): Promise<unknown>
}

/** The most failures that are kept: they name documents for the operator, who needs the key and not the list. */
const FAILURES_MAX = 100

/**
 * Encrypts the secrets of a collection again that are not under the active key. It can be interrupted anywhere and
 * repeated, and the documents can be changed meanwhile.
 */
export async function resealDocuments<D extends object>(
  { readDocuments, keys }: { readonly readDocuments: ReadDocuments; readonly keys: ResealKeys },
  { spec, change, update }: SealedDocuments<D>,
): Promise<ResealCount> {
  let [read, changed, left] = [0, 0, 0]
  const failures: string[] = []
  const by_key: Record<string, number> = {}
  let key: string | undefined
  const reseal: Reseal = (purpose, sealed, owner) => {
    key = keyIdOf(sealed)
    const again = keys[purpose].reseal(sealed, owner)
    key = keyIdOf(again)
    return again
  }
  const person: Pick<PersonSealer, 'reseal'> = {
    reseal(sealed, ...place) {
      key = personKeyIdOf(sealed)
      const again = keys.person.reseal(sealed, ...place)
      key = personKeyIdOf(again)
      return again
    },
  }
  const resealed = (document: D): D | undefined => {
    const next = change(document, reseal, person)
    return next === document ? undefined : next
  }
  for await (const document of readDocuments<D>(spec)) {
    read += 1
    key = undefined
    try {
      if (resealed(document) === undefined) continue
    } catch (error) {
      left += 1
      const reason = error instanceof Error ? error.message : 'not readable'
      if (failures.length < FAILURES_MAX) failures.push(`${nameOf(spec, document)}: ${reason}`)
      continue
    } finally {
      if (key !== undefined) by_key[key] = (by_key[key] ?? 0) + 1
    }
    await update(document, resealed)
    changed += 1
  }
  return { collection: spec.name, read, changed, by_key, left, failures }
}

/** The document in a message: its collection and its key. */
function nameOf({ name, key }: CollectionSpec, document: object): string {
  const fields: Readonly<Record<string, unknown>> = { ...document }
  return [name, ...key.map((field) => String(fields[field]))].join(' ')
}
