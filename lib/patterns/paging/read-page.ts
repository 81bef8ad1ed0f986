import { fieldError } from '#lib/contract/errors/public-error.ts'
import { INT64_MAX } from '#lib/contract/money.ts'
import type { Collection, Range, Stored } from '#lib/store/store.ts'

const PAGE_SIZE_DEFAULT = 25
/** The largest page of the operator's lists (O19). One read of the store returns no more. */
export const PAGE_SIZE_MAX = 1_000
/** The largest page of merchants' lists (S6). */
export const MERCHANT_PAGE_MAX = 100

/** The size of a page: 25 for 0, which means "not given". Throws 9000 for a size outside 1 to the largest page. */
export function checkPageSize(requested: number, largest = PAGE_SIZE_MAX): number {
  if (requested === 0) return PAGE_SIZE_DEFAULT
  if (requested >= 1 && requested <= largest) return requested
  throw fieldError(9000, 'page_size', `an integer from 1 to ${largest}`)
}

/** A place in a list: the fields of its index and key, as the last item of a page has them. */
export type Position = Readonly<Record<string, string | number | bigint | Date>>

/** The type of each field of a position that differs between the items of a list. `int64` is a positive bigint. */
export type PositionFields = Readonly<Record<string, keyof FieldTypes>>

interface FieldTypes {
  readonly text: string
  readonly instant: Date
  readonly integer: number
  readonly int64: bigint
}

/** A position whose fields have the types that a list declares. */
export type PositionOf<F extends PositionFields> = { readonly [Name in keyof F]: FieldTypes[F[Name]] }

/** Twice the length of the longest token that we make. A longer text would not fit a key of every store. */
const TOKEN_MAX = 1_024
const INT64 = /^[1-9][0-9]{0,18}$/

/**
 * Encodes a position as a page token of an internal list. A token is opaque to the caller, but neither secret nor
 * signed, because a caller that may read the list may read every item of it. (Cursors for merchants differ: S6.)
 */
export function encodePageToken(position: Position): string {
  const fields = Object.entries(position).map(([name, value]) => [name, toJson(value)])
  return Buffer.from(JSON.stringify(Object.fromEntries(fields))).toString('base64url')
}

function toJson(value: Position[string]): string | number {
  if (value instanceof Date) return value.getTime()
  return typeof value === 'bigint' ? value.toString() : value
}

/**
 * Decodes a page token; an empty one is `undefined`, the beginning of the list. `token_scope` has the fields that all
 * items of the list share, so a token of another list is refused. Throws 9000 for every text that is not a token of this
 * list.
 */
export function decodePageToken<F extends PositionFields>(
  token: string,
  token_scope: Readonly<Record<string, string>>,
  fields: F,
): (PositionOf<F> & Position) | undefined {
  if (token === '') return undefined
  const content = token.length <= TOKEN_MAX ? parse(token) : undefined
  const position = content && readFields(content, fields)
  if (!position || Object.entries(token_scope).some(([name, value]) => content[name] !== value)) {
    throw fieldError(9000, 'page_token')
  }
  return { ...token_scope, ...position } as PositionOf<F> & Position
}

function parse(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const bytes = Buffer.from(token, 'base64url')
    if (bytes.toString('base64url') !== token) return undefined
    const content: unknown = JSON.parse(bytes.toString())
    return typeof content === 'object' && content !== null ? { ...content } : undefined
  } catch {
    return undefined
  }
}

function readFields(
  content: Readonly<Record<string, unknown>>,
  fields: PositionFields,
): Position | undefined {
  const position: Record<string, Position[string]> = {}
  for (const [name, type] of Object.entries(fields)) {
    const value = READERS[type](content[name])
    if (value === undefined) return undefined
    position[name] = value
  }
  return position
}

/** One reader per type; `undefined` for a value that is not of the type. */
const READERS: Readonly<Record<PositionFields[string], (value: unknown) => Position[string] | undefined>> = {
  text: (value) => (typeof value === 'string' && value.isWellFormed() ? value : undefined),
  instant: (value) => {
    const date = Number.isInteger(value) ? new Date(Number(value)) : undefined
    return date && !Number.isNaN(date.getTime()) ? date : undefined
  },
  integer: (value) => (typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined),
  int64: (value) => {
    const integer = typeof value === 'string' && INT64.test(value) ? BigInt(value) : undefined
    return integer !== undefined && integer <= INT64_MAX ? integer : undefined
  },
}

/** The page that a caller requested, as every list RPC carries it. */
export interface PageRequest {
  readonly page_size: number
  readonly page_token: string
}

/** A page of a list. Only an empty token ends the list: a page before the last can be short, even empty. */
export interface Page<D> {
  readonly items: readonly Stored<D>[]
  readonly next_page_token: string
}

/** A list over an index of a collection. */
export interface PagedList<D extends object> {
  readonly collection: Pick<Collection<D>, 'find'>
  readonly index: string
  readonly range: Range
  readonly reverse?: boolean
  /** The fields of the position that all items share. A page token is valid only in the list with these values. */
  readonly token_scope: Readonly<Record<string, string>>
  /** The other fields of the position, which each item has: the fields of the index, then of the key. */
  readonly position: PositionFields
  /** Selects the items of the list; all of them unless given. */
  readonly matches?: ((document: D) => boolean) | undefined
}

/** The documents that one call reads when its filter matches few of them. The token continues after the last one. */
const READ_MAX = 2_000
const READ_SIZE = 200

/** Reads a page of a list. Throws 9000 for a page size outside 1 to 1,000 and for a token of another list. */
export async function readPage<D extends object>(
  list: PagedList<D>,
  { page_size, page_token }: PageRequest,
): Promise<Page<D>> {
  const size = checkPageSize(page_size)
  let after = decodePageToken(page_token, list.token_scope, list.position)
  const { collection, index, range, reverse = false, matches = () => true } = list
  const limit = list.matches ? READ_SIZE : size
  const items: Stored<D>[] = []
  for (let read = 0; read < READ_MAX; read += limit) {
    const documents = await collection.find(index, range, { limit, reverse, after })
    for (const document of documents) {
      if (matches(document)) items.push(document)
      if (items.length === size)
        return { items, next_page_token: encodePageToken(positionOf(document, list)) }
    }
    const last = documents.length === limit ? documents.at(-1) : undefined
    if (!last) return { items, next_page_token: '' }
    after = positionOf(last, list)
  }
  return { items, next_page_token: after ? encodePageToken(after) : '' }
}

function positionOf<D extends object>(document: D, { token_scope, position }: PagedList<D>): Position {
  const fields = Object.entries(document).filter(([name]) => Object.hasOwn(position, name))
  return { ...token_scope, ...Object.fromEntries(fields) }
}
