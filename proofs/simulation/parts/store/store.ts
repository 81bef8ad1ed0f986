import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { checkDocument, checkDocumentSize, checkVersion, firstVersion } from '#lib/store/check.ts'
import { PrecedingWriteFailed } from '#lib/store/errors.ts'
import { parseCountRange, parseIndexRanges } from '#lib/store/index-range.ts'
import { checkKeyLength } from '#lib/store/keys.ts'
import { entryTexts, expiryOf, keyFields, keyText, type Layout, parseLayout } from '#lib/store/layout.ts'
import type { Collection, Store, Stored } from '#lib/store/store.ts'
import { copyDocument } from './copy-document.ts'
import type { Database } from './database.ts'
import { openMemoryBlobs } from './memory-blobs.ts'
import type { MemoryCollection, ReadSource, StoredBody } from './memory-collection.ts'

/** One command on its way to the database. */
export interface StoreCommand {
  readonly kind: 'insert' | 'replace' | 'delete' | 'get' | 'find' | 'count' | 'ping' | 'clock'
  readonly database: string
  readonly collection: string
  /** What the trace shows of it. */
  readonly subject: string
  /** Whether the read must not come from a former primary. */
  readonly is_linearizable: boolean
}

/** Whether a command changes a document. */
export function isWrite({ kind }: StoreCommand): boolean {
  return kind === 'insert' || kind === 'replace' || kind === 'delete'
}

/** Whether a former primary cannot answer a command, because the other servers of its set have to confirm it. */
export function needsMajority(command: StoreCommand): boolean {
  return isWrite(command) || command.is_linearizable
}

/**
 * Carries a command to the database and its result back. `apply` runs the command there. It takes the collection to
 * read from, which may be an old copy; writes ignore it.
 */
export type CarryCommand = <T>(
  command: StoreCommand,
  apply: (source: ReadSource | undefined) => T,
) => Promise<T>

/** Opens a database for one process. `readServerClock` returns the time of the server. */
export function openSimulatedStore(
  database: Database,
  carry: CarryCommand,
  readServerClock: () => Date,
): Store {
  let is_closed = false
  const carryWhileOpen: CarryCommand = async (command, apply) => {
    if (is_closed) throw new Unavailable('the store is closed')
    return await carry(command, apply)
  }
  return {
    isAlone: () => false,
    collection: async (spec) =>
      openCollection(database.name, parseLayout(spec), database.collection(spec), carryWhileOpen),
    blobs: async (name) =>
      openMemoryBlobs(database.blobs, name, (kind, subject, apply) =>
        carryWhileOpen(
          { kind, database: database.name, collection: name, subject, is_linearizable: true },
          () => apply(),
        ),
      ),
    ping: () => carryWhileOpen({ ...PING, database: database.name }, () => {}),
    readClock: () => carryWhileOpen({ ...PING, kind: 'clock', database: database.name }, readServerClock),
    async close() {
      is_closed = true
    },
  }
}

const PING = { kind: 'ping', collection: '', subject: '', is_linearizable: false } as const

function openCollection<D extends object>(
  database: string,
  layout: Layout,
  target: MemoryCollection,
  carry: CarryCommand,
): Collection<D> {
  const typed = (document: StoredBody): Stored<D> => copyDocument(document).document as unknown as Stored<D>
  const commandOf = (kind: StoreCommand['kind'], subject: string, is_linearizable = false): StoreCommand => ({
    kind,
    database,
    collection: layout.name,
    subject,
    is_linearizable,
  })
  return {
    async insert(document, { after } = {}) {
      const { stored, sent } = prepare(layout, document, firstVersion())
      await after?.catch((error: unknown) => {
        throw new PrecedingWriteFailed(error)
      })
      const now_ms = clock.now_ms()
      await carry(commandOf('insert', keyText(layout, sent)), () => target.insert(sent, now_ms))
      return stored
    },
    async replace(document, expected_version) {
      checkVersion(expected_version)
      const { stored, sent } = prepare(layout, document, expected_version + 1)
      const now_ms = clock.now_ms()
      await carry(commandOf('replace', `${keyText(layout, sent)} ${expected_version}`), () =>
        target.replace(sent, expected_version, now_ms),
      )
      return stored
    },
    async delete(fields, expected_version) {
      checkVersion(expected_version)
      const key = keyText(layout, keyFields(layout, fields))
      const now_ms = clock.now_ms()
      await carry(commandOf('delete', key), () => target.delete(key, expected_version, now_ms))
    },
    async get(fields, { linearizable = false } = {}) {
      const key = keyText(layout, keyFields(layout, fields))
      const now_ms = clock.now_ms()
      return await carry(commandOf('get', key, linearizable), (source = target) => {
        const found = source.get(key, now_ms)
        return found && typed(found)
      })
    },
    async find(index, range, options) {
      const ranges = parseIndexRanges(layout, index, range, options)
      const now_ms = clock.now_ms()
      return await carry(commandOf('find', index, options.linearizable), (source = target) =>
        source.find(ranges, now_ms).map(typed),
      )
    },
    async count(index, range, { limit_ms }) {
      const count_range = parseCountRange(layout, index, range)
      const until_ms = clock.monotonic_ms() + limit_ms
      const counts = await carry(commandOf('count', index, true), (source = target) =>
        source.count(count_range),
      )
      if (clock.monotonic_ms() >= until_ms) throw new Unavailable('the count took too long')
      return counts
    },
  }
}

/** Makes the checks of the real stores. Returns the document for the caller and the document that is sent. */
function prepare<D extends object>(
  layout: Layout,
  document: D,
  version: number,
): { readonly stored: Stored<D>; readonly sent: StoredBody } {
  const stored = checkDocument(document, version)
  const key = keyText(layout, stored)
  expiryOf(layout, stored)
  for (const index of layout.indexes) {
    for (const text of entryTexts(index, stored)) checkKeyLength(text, key)
  }
  const { document: sent, size_bytes } = copyDocument<StoredBody>(stored)
  checkDocumentSize(size_bytes)
  return { stored, sent }
}
