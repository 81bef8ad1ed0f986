import { fieldError } from '#lib/contract/errors/public-error.ts'
import { INT64_MAX } from '#lib/contract/money.ts'

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
    const content: unknown = JSON.parse(Buffer.from(token, 'base64url').toString())
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
