import { isDeepStrictEqual } from 'node:util'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Body } from '../check.ts'
import { Ambiguous, Conflict } from '../errors.ts'
import type { Collection, Stored } from '../store.ts'
import { type ArchiveFile, createArchiveFile } from './archive-file.ts'
import { COMMAND_LIMITS, createArchiveReader } from './archive-reader.ts'
import {
  type ArchivedSpec,
  type ArchivePlace,
  digestOf,
  isStub,
  LINE_BYTES_MAX,
  lineOf,
  type SignStub,
  stubOf,
  wholeOf,
} from './archived-document.ts'

/** How many documents were archived, and how many were left: they changed meanwhile, are too large, or may have been archived. */
export interface ArchiveCount {
  readonly archived: number
  readonly left: number
  /** The bytes that the lines have, and that they take in files. */
  readonly line_bytes: number
  readonly file_bytes: number
}

/** The collection as it is stored, what signs its stubs if they are signed, where its files are, and, for tests, how they are made. */
export interface ArchiveTarget {
  readonly spec: ArchivedSpec
  readonly sign?: SignStub | undefined
  readonly collection: Pick<Collection<object>, 'replace'>
  readonly directory: string
  readonly createFile?: typeof createArchiveFile
}

/** A block is one read: large enough that a page of a list needs few blocks, and small enough that one document costs little. */
const BLOCK_DOCUMENTS = 128
const BLOCK_BYTES = 256 * 1_024

interface Line {
  readonly document: Stored<Body>
  readonly bytes: Buffer
}

/**
 * Moves the bodies of documents to a new file, block by block, and yields the sum after each: the lines are written and durable, then
 * read back and compared, and only then is each document replaced by its stub, if it is still at its version. So a crash at any
 * step loses nothing: lines without a stub are not used. Throws `Unavailable`, and what the file system throws.
 */
export async function* archiveDocuments(
  target: ArchiveTarget,
  documents: AsyncIterable<Stored<object>>,
): AsyncGenerator<ArchiveCount> {
  const { spec, directory, createFile = createArchiveFile } = target
  let sum: ArchiveCount = { archived: 0, left: 0, line_bytes: 0, file_bytes: 0 }
  let file: ArchiveFile | undefined
  try {
    for await (const { lines, left } of blocksOf(spec, documents)) {
      sum = { ...sum, left: sum.left + left }
      if (lines.length > 0) {
        file ??= await createFile(directory, spec.name)
        sum = add(sum, await archiveBlock(target, file, lines))
      }
      yield sum
    }
  } finally {
    await file?.close()
  }
}

function add(sum: ArchiveCount, count: ArchiveCount): ArchiveCount {
  return {
    archived: sum.archived + count.archived,
    left: sum.left + count.left,
    line_bytes: sum.line_bytes + count.line_bytes,
    file_bytes: sum.file_bytes + count.file_bytes,
  }
}

/** Gathers lines to blocks. Stubs are skipped; a document with too long a line is left. */
async function* blocksOf(
  spec: ArchivedSpec,
  documents: AsyncIterable<Stored<object>>,
): AsyncGenerator<{ readonly lines: readonly Line[]; readonly left: number }> {
  let [lines, bytes, left]: [Line[], number, number] = [[], 0, 0]
  for await (const stored of documents) {
    if (isStub(stored)) continue
    // Plain, as it was read.
    const document = stored as Stored<Body>
    const line = lineOf(spec, document)
    if (line.length > LINE_BYTES_MAX) {
      left += 1
      continue
    }
    lines.push({ document, bytes: line })
    bytes += line.length
    if (lines.length < BLOCK_DOCUMENTS && bytes < BLOCK_BYTES) continue
    yield { lines, left }
    ;[lines, bytes, left] = [[], 0, 0]
  }
  yield { lines, left }
}

async function archiveBlock(
  { spec, sign, collection, directory }: ArchiveTarget,
  file: ArchiveFile,
  lines: readonly Line[],
): Promise<ArchiveCount> {
  const block = await file.append(lines.map(({ bytes }) => bytes))
  const stubs = lines.map(({ document, bytes }, line) => {
    const place: ArchivePlace = { ...block, line, digest: digestOf(bytes) }
    return { document, stub: stubOf(spec, document, place, sign) }
  })
  // A reader of its own: what is compared comes from the file.
  const reader = createArchiveReader(directory, COMMAND_LIMITS)
  for (const { document, stub } of stubs) {
    const { version, ...whole } = document
    const read = wholeOf(stub, await reader.readBody(spec, stub))
    if (!isDeepStrictEqual(read, whole))
      throw new Unavailable(
        `a document of ${spec.name} does not come back from ${file.name}: nothing of its block is archived`,
      )
  }
  // All of them have ended then, also when one has failed.
  const results = await Promise.allSettled(
    stubs.map(({ document, stub }) => isReplaced(collection, stub, document.version)),
  )
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
  const archived = results.filter((result) => result.status === 'fulfilled' && result.value).length
  const line_bytes = lines.reduce((sum, { bytes }) => sum + bytes.length, 0)
  return { archived, left: lines.length - archived, line_bytes, file_bytes: block.bytes }
}

/** Whether the replacement happened. After an unknown result the document is whole, or a stub whose line is there. */
async function isReplaced(
  collection: ArchiveTarget['collection'],
  document: Body,
  version: number,
): Promise<boolean> {
  try {
    await collection.replace(document, version)
    return true
  } catch (error) {
    if (error instanceof Conflict || error instanceof Ambiguous) return false
    throw error
  }
}
