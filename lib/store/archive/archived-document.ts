import { createHash } from 'node:crypto'
import type { Body } from '../check.ts'
import { ArchiveUnavailable } from '../errors.ts'
import { keyOf } from '../lookup.ts'
import type { CollectionSpec } from '../store.ts'
import { fromExtendedJson, toExtendedJson } from './extended-json.ts'

// A document of a collection with `archive` is in the database as a whole, or as a stub whose body is in a file:
//
//   stub                                                    file: blocks of lines, each block a gzip member
//   { key, kept fields, version,                            {"collection":"payments","key":{…},"body":{…}}
//     archived: [run, offset, bytes, line, digest] }    ──▶ {"collection":"payments","key":{…},"body":{…}}
//
// Where documents are signed, the place ends with a signature over the stub, which so proves itself while its file is away.
// The place has no names of fields, and the run is what differs in the names of files: there may be 10^9 stubs.
// The key, the identity and what is indexed never leave the database, so that a document still meets itself there.

/** Where the body of a stub is: `bytes` at `offset` of the file are its block, and `line` counts from 0 in it. */
export interface ArchivePlace {
  readonly file: string
  readonly offset: number
  readonly bytes: number
  readonly line: number
  /** The SHA-256 of the line, without its end. */
  readonly digest: Uint8Array
}

/** Returns the signature of the text of a stub. */
export type SignStub = (text: string) => string

/** The declaration of a collection whose documents can be archived. */
export type ArchivedSpec = CollectionSpec & Required<Pick<CollectionSpec, 'archive'>>

/** The most bytes of a block as it is in a file, and of its lines. Above the largest line, with a block of others before it. */
export const BLOCK_BYTES_MAX = 32 * 1_024 ** 2
/** The longest line. A document with a longer one is not archived. */
export const LINE_BYTES_MAX = 16 * 1_024 ** 2
const LINES_MAX = 65_536

/** The field of a stub; no other document of a collection with `archive` has it. */
const FIELD = 'archived'

/** Whether a document, as it is stored, is a stub. */
export function isStub(stored: object): stored is Body {
  return FIELD in stored && stored[FIELD] !== undefined
}

/** What the stubs of one block have in common, and no others have; the empty text for other documents. */
export function blockOf(stored: object): string {
  const place = isStub(stored) ? stored[FIELD] : undefined
  return Array.isArray(place) ? place.slice(0, 2).join(' ') : ''
}

/** Divides a document, as it is stored, into the fields that stay and its body. */
function divide(
  { key, archive }: ArchivedSpec,
  document: Body,
): { readonly kept: Body; readonly body: Body } {
  const stays = new Set([...key, ...archive.keeps])
  const kept: Record<string, unknown> = {}
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(document)) {
    if (name === 'version' || name === FIELD || value === undefined) continue
    if (stays.has(name)) kept[name] = value
    else body[name] = value
  }
  return { kept, body }
}

/** The stub of a document whose body is at a place, signed if `sign` is given. */
export function stubOf(
  spec: ArchivedSpec,
  document: Body,
  { file, offset, bytes, line, digest }: ArchivePlace,
  sign?: SignStub,
): Body {
  const run = FILE_NAME.exec(file)?.groups?.['run']
  if (run === undefined) throw new TypeError(`${file} is not the name of a file of an archive`)
  const { kept } = divide(spec, document)
  const place = [run, offset, bytes, line, digest]
  return { ...kept, [FIELD]: sign ? [...place, sign(textOf(kept, place))] : place }
}

/** The signature of a stub and the text that it must cover; both are empty for a stub without a signature. */
export function signedTextOf(stub: Body): { readonly text: string; readonly signature: string } {
  const { version: _, [FIELD]: stored, ...kept } = stub
  const signature: unknown = Array.isArray(stored) ? stored.at(-1) : undefined
  try {
    if (Array.isArray(stored) && typeof signature === 'string')
      return { text: textOf(kept, stored.slice(0, -1)), signature }
  } catch {
    // A value that no document can hold.
  }
  return { text: '', signature: '' }
}

/** All fields and parts, also those that only a newer release knows, in an order that no store changes. */
function textOf(kept: Body, place: readonly unknown[]): string {
  const fields = Object.entries(kept).sort(([one], [other]) => (one < other ? -1 : 1))
  return toExtendedJson([fields, place])
}

/** The whole document of a stub and its body. What stayed in the stub may have changed since, and counts. */
export function wholeOf(stub: Body, body: Body): Body {
  const { [FIELD]: _place, ...kept } = stub
  return { ...body, ...kept }
}

/** The line of a document in an archive, without its end. */
export function lineOf(spec: ArchivedSpec, document: Body): Buffer {
  const line = { collection: spec.name, key: keyFieldsOf(spec, document), body: divide(spec, document).body }
  return Buffer.from(toExtendedJson(line))
}

/** What a stub remembers of its line. */
export function digestOf(line: Uint8Array): Buffer {
  return createHash('sha256').update(line).digest()
}

/**
 * The body in the line of a stub. Throws `ArchiveUnavailable` unless it is the very line that was archived for this document: the
 * digest says so, and a stub that was given the place of another document has another key.
 */
export function bodyIn(
  spec: ArchivedSpec,
  stub: Body,
  { file, digest }: ArchivePlace,
  line: Uint8Array | undefined,
): Body {
  if (line === undefined || !digestOf(line).equals(digest))
    throw new ArchiveUnavailable(file, 'it is damaged')
  // Its digest says that `lineOf` has made it.
  const { collection, key, body } = fromExtendedJson(Buffer.from(line).toString()) as Record<string, unknown>
  if (collection !== spec.name || toExtendedJson(key) !== toExtendedJson(keyFieldsOf(spec, stub)))
    throw new ArchiveUnavailable(file, 'it has the line of another document')
  return body as Body
}

function keyFieldsOf({ key }: CollectionSpec, document: Body): object {
  return keyOf({ key })(document as Readonly<Record<string, string>>)
}

/** The name of a new file of an archive: its collection, the day, and what no other run has. */
export function archiveFileName(collection: string, at: Date, random: string): string {
  return `${collection}-${at.toISOString().slice(0, 10)}-${random}.jsonl.gz`
}

const FILE_NAME = /^[a-z][a-z0-9_]{0,49}-(?<run>\d{4}-\d{2}-\d{2}-[0-9a-f]{12})\.jsonl\.gz$/

/**
 * The place in a stub. Throws `ArchiveUnavailable` for a place that no run has written, such as with a name that leads out of the
 * directory, or with a block that is too large.
 */
export function placeOf({ name }: CollectionSpec, stub: Body): ArchivePlace {
  const stored: unknown = stub[FIELD]
  const parts: readonly unknown[] = Array.isArray(stored) ? stored : []
  const [run, offset, bytes, line, digest, _signature, ...more] = parts
  const file = `${name}-${String(run)}.jsonl.gz`
  const is_named = FILE_NAME.exec(file)?.groups?.['run'] === run && more.length === 0
  const is_placed =
    isCount(offset, Number.MAX_SAFE_INTEGER - BLOCK_BYTES_MAX) &&
    isCount(bytes, BLOCK_BYTES_MAX) &&
    isCount(line, LINES_MAX)
  if (!is_named || !is_placed || !(digest instanceof Uint8Array))
    throw new ArchiveUnavailable('of a stub', 'the stub names no place in an archive')
  return { file, offset, bytes, line, digest }
}

function isCount(value: unknown, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max
}
