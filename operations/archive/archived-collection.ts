import type { Keys } from '#lib/base/crypto/keys.ts'
import { clock, now } from '#lib/base/time.ts'
import { update, upsert } from '#lib/patterns/update.ts'
import type { Archivable, ReadDocuments, RoleOperations } from '#lib/role/operations.ts'
import { type ArchiveCount, archiveDocuments } from '#lib/store/archive/archive-documents.ts'
import { createArchiveFile } from '#lib/store/archive/archive-file.ts'
import type { ArchiveFileRecord } from '#lib/store/archive/archive-files.ts'
import { ARCHIVE_FILES } from '#lib/store/archive/archive-files.ts'
import { COMMAND_LIMITS, createArchiveReader } from '#lib/store/archive/archive-reader.ts'
import { isArchived, readWhole } from '#lib/store/archive/archived-collections.ts'
import { type ArchivedSpec, isStub, placeOf } from '#lib/store/archive/archived-document.ts'
import type { Body } from '#lib/store/check.ts'
import { ArchiveUnavailable, Conflict } from '#lib/store/errors.ts'
import { keyOf } from '#lib/store/lookup.ts'
import type { Fields, Store } from '#lib/store/store.ts'
import type { CommandOutput } from '../../app/run.ts'
import { type NeededFile, readNeededFiles } from './archive-files.ts'

/** A collection that can be archived, its open database as it is stored, and the directory of the files. */
export interface ArchiveSubject {
  readonly role: Pick<RoleOperations, 'name'>
  readonly archivable: Archivable
  readonly store: Store
  readonly directory: string
  readonly output: CommandOutput
}

/** Some seconds of work. */
const PROGRESS_EVERY = 10_000
/** How many stubs are read in the order of their places, so that each block is read once for all of them. */
const SORTED_MAX = 20_000
/** How many documents are read and written at once. */
const WRITES_MAX = 64
/** After this a run that has not ended was killed. */
const RUN_MAX_MS = 86_400_000

/** Why a run found nothing, by collection. docs/operators/archive.md has all conditions. */
const REASONS: Readonly<Record<string, string>> = {
  payments:
    'no more payments of production that ended before the date are closed and erased; payments of test are never archived',
  journal:
    'no more batches that were decided before the date are verified, covered by a checkpoint, and older than the newest 1,024 of their shard',
}

/** Moves the bodies of documents that ended before an instant to a new file, and prints what came of it. */
export async function archiveCollection({
  role,
  archivable,
  store,
  directory,
  output,
  before,
  keys,
}: ArchiveSubject & { readonly before: Date; readonly keys: Keys<'journal'> }): Promise<void> {
  const { printLine, printProgress } = output
  const spec = specOf(archivable)
  const files = await store.collection<ArchiveFileRecord>(ARCHIVE_FILES)
  let record: ArchiveFileRecord | undefined
  let sum: ArchiveCount = { archived: 0, left: 0, line_bytes: 0, file_bytes: 0 }
  let printed = 0
  const target = {
    spec,
    sign: archivable.signWith?.(keys),
    directory,
    collection: await store.collection<Body>(spec),
    async createFile(...parameters: Parameters<typeof createArchiveFile>) {
      const file = await createArchiveFile(...parameters)
      record = { collection: spec.name, file: file.name, began_at: now() }
      await files.insert(record)
      return file
    },
  }
  for await (sum of archiveDocuments(target, archivable.list(store, before, keys))) {
    if (sum.archived - printed < PROGRESS_EVERY) continue
    printed = sum.archived
    printProgress(`${role.name}: ${spec.name}: ${printed} archived`)
  }
  const { archived, left, line_bytes, file_bytes } = sum
  if (record !== undefined) {
    const { collection, file } = record
    const ended: ArchiveFileRecord = { ...record, ended_at: now(), bytes: file_bytes, documents: archived }
    await upsert(files, { collection, file }, () => ended)
  }
  const place = record === undefined ? '' : ` in ${record.file} (${line_bytes} bytes in ${file_bytes})`
  const reason = archived + left === 0 && REASONS[spec.name] ? `: ${REASONS[spec.name]}` : ''
  printLine(`${role.name}: ${archived} documents of ${spec.name} were archived${place}${reason}`)
  if (left > 0)
    printLine(
      `${role.name}: ${left} documents of ${spec.name} were left: they changed meanwhile, are too large, or the database did not say whether they were archived`,
    )
}

/**
 * Reads the body of each archived document. Prints the files that cannot be read or have no record, and returns the number of these
 * problems.
 */
export async function checkStubs(
  {
    role,
    archivable,
    directory,
    output,
  }: Omit<ArchiveSubject, 'store' | 'directory'> & {
    readonly directory: string | undefined
  },
  readDocuments: ReadDocuments,
): Promise<number> {
  const spec = specOf(archivable)
  const reader = createArchiveReader(directory, COMMAND_LIMITS)
  const unreadable = createUnreadable(role.name, spec.name)
  const named = new Set<string>()
  const recorded = await recordsOf(archivable, readDocuments)
  const check = async (stub: Body): Promise<void> => {
    named.add(placeOf(spec, stub).file)
    await reader.readBody(spec, stub)
  }
  let checked = 0
  for await (const stubs of sortedStubs(spec, readDocuments(spec))) {
    for (const stub of stubs) {
      checked += 1
      await unreadable.note(check(stub))
    }
  }
  output.printLine(
    `${role.name}: ${checked} archived documents of ${spec.name}, ${unreadable.count()} unreadable`,
  )
  // Again: a run that began meanwhile has stored its record before its stubs.
  recorded.push(...(await recordsOf(archivable, readDocuments)))
  const unrecorded = [...named].filter((name) => !recorded.some(({ file }) => file === name))
  for (const file of unrecorded)
    output.printLine(`PROBLEM  ${role.name}: documents of ${spec.name} need ${file}, which has no record`)
  return unreadable.print(output) + unrecorded.length
}

/**
 * Replaces each stub by its whole document, unless that has been written whole meanwhile. Prints the files that cannot be read and how
 * many documents another process changed at the same time, and returns the number of these problems.
 */
export async function restoreStubs(
  { role, archivable, store, directory, output }: ArchiveSubject,
  readDocuments: ReadDocuments,
): Promise<number> {
  const spec = specOf(archivable)
  const reader = createArchiveReader(directory, COMMAND_LIMITS)
  const collection = await store.collection<Body>(spec)
  const unreadable = createUnreadable(role.name, spec.name)
  let [restored, left] = [0, 0]
  const restore = async (key: Fields): Promise<void> => {
    const stub = await collection.get(key)
    if (stub === undefined || !isStub(stub)) return
    const { version, ...whole } = await readWhole(spec, stub, reader)
    if (await isDone(collection.replace(whole, version))) restored += 1
    else left += 1
  }
  for await (const stubs of sortedStubs(spec, readDocuments(spec))) {
    for (let at = 0; at < stubs.length; at += WRITES_MAX)
      await Promise.all(
        stubs.slice(at, at + WRITES_MAX).map((stub) => unreadable.note(restore(keyFieldsOf(spec, stub)))),
      )
    output.printProgress(`${role.name}: ${spec.name}: ${restored} restored`)
  }
  output.printLine(
    `${role.name}: ${restored} documents of ${spec.name} were restored, ${unreadable.count()} unreadable`,
  )
  if (left > 0)
    output.printLine(
      `PROBLEM  ${role.name}: ${left} documents of ${spec.name} changed meanwhile: repeat the command`,
    )
  return unreadable.print(output) + (left > 0 ? 1 : 0)
}

/**
 * Deletes the records of the files that no stub names any more. The record of a run that has not ended stays for a day, because the run
 * may still write stubs. After that the run was killed: its record is deleted, or ends when stubs name its file. Also a run that began
 * after the records were read loses none, so another `archive` may run at the same time.
 */
export async function forgetFiles(
  { role, archivable, store, output }: Omit<ArchiveSubject, 'directory'>,
  readDocuments: ReadDocuments,
): Promise<void> {
  const spec = specOf(archivable)
  // Before the documents: a file whose run has ended gets no new stubs.
  const records = await recordsOf(archivable, readDocuments)
  if (records.length === 0) return
  const named = new Set<string>()
  for await (const document of readDocuments(spec))
    if (isStub(document)) named.add(placeOf(spec, document).file)
  const files = await store.collection<ArchiveFileRecord>(ARCHIVE_FILES)
  for (const record of records) {
    const { collection, file } = record
    if (named.has(file)) {
      if (isOfKilledRun(record))
        await update(files, { collection, file }, (stored) =>
          stored.ended_at ? undefined : { ...stored, ended_at: now() },
        )
      continue
    }
    if (record.ended_at === undefined && !isOfKilledRun(record)) {
      output.printLine(`${role.name}: keep ${file}: its run has not ended, or was killed within the last day`)
      continue
    }
    const stored = await files.get({ collection, file })
    if (stored !== undefined) await isDone(files.delete({ collection, file }, stored.version))
  }
}

/** Whether a record is left by a run that was killed: most runs take minutes, and a longer one stores its record again at its end. */
export function isOfKilledRun({
  began_at,
  ended_at,
}: Pick<ArchiveFileRecord, 'began_at' | 'ended_at'>): boolean {
  return ended_at === undefined && began_at.getTime() < clock.now_ms() - RUN_MAX_MS
}

async function recordsOf(archivable: Archivable, readDocuments: ReadDocuments): Promise<NeededFile[]> {
  const files = await readNeededFiles({ archives: [archivable] }, readDocuments)
  return files.filter(({ collection }) => collection === archivable.spec.name)
}

function specOf({ spec }: Archivable): ArchivedSpec {
  if (!isArchived(spec)) throw new TypeError(`${spec.name} cannot be archived`)
  return spec
}

function keyFieldsOf(spec: ArchivedSpec, document: Body): Fields {
  // The fields of a key have the values of a key.
  return keyOf(spec)(document as Fields)
}

/** Whether a guarded write was done: another process may have changed the document first. */
async function isDone(write: Promise<unknown>): Promise<boolean> {
  try {
    await write
    return true
  } catch (error) {
    if (error instanceof Conflict) return false
    throw error
  }
}

/** The stubs among documents, in groups that are in the order of their places. */
async function* sortedStubs(
  spec: ArchivedSpec,
  documents: AsyncIterable<object>,
): AsyncGenerator<readonly Body[]> {
  let stubs: Body[] = []
  const sorted = (): readonly Body[] =>
    stubs
      .map((stub) => ({ stub, place: orderOf(spec, stub) }))
      .sort((one, other) => (one.place < other.place ? -1 : 1))
      .map(({ stub }) => stub)
  for await (const document of documents) {
    if (!isStub(document)) continue
    // Only what finds its line, because a stub of the journal can have thousands of indexed texts.
    stubs.push({ ...keyFieldsOf(spec, document), archived: document['archived'] })
    if (stubs.length < SORTED_MAX) continue
    yield sorted()
    stubs = []
  }
  yield sorted()
}

/** What sorts like the place of a stub. A place that cannot be read comes first. */
function orderOf(spec: ArchivedSpec, stub: Body): string {
  try {
    const { file, offset } = placeOf(spec, stub)
    return `${file} ${String(offset).padStart(16, '0')}`
  } catch {
    return ''
  }
}

/** Counts the documents whose body cannot be read, by what is wrong with which file. */
function createUnreadable(role: string, collection: string) {
  const by_message = new Map<string, number>()
  return {
    async note(work: Promise<unknown>): Promise<void> {
      try {
        await work
      } catch (error) {
        if (!(error instanceof ArchiveUnavailable)) throw error
        by_message.set(error.message, (by_message.get(error.message) ?? 0) + 1)
      }
    },
    count: (): number => [...by_message.values()].reduce((sum, count) => sum + count, 0),
    print({ printLine }: CommandOutput): number {
      for (const [message, count] of by_message)
        printLine(`PROBLEM  ${role}: ${count} documents of ${collection}: ${message}`)
      return by_message.size
    },
  }
}
