import { fieldError } from '#lib/contract/errors/public-error.ts'

/** The position of the last item of a page: the fields of the index and of the key, as that item had them. */
export type Position = Readonly<Record<string, string | Date>>

/** What the fields of a position hold that the list itself does not fix. */
export type OpenFields = Readonly<Record<string, 'text' | 'instant'>>

/** Twice as long as any position that we make. As a key of an index it still fits every store. */
const TOKEN_MAX = 1_024

/**
 * A page token for internal lists: opaque to the caller, not secret and not signed, because whoever may list may read
 * everything in the list anyway. (Merchants' cursors are another matter: S6.)
 */
export function pageToken(position: Position): string {
  const fields = Object.entries(position).map(([field, value]) => [
    field,
    value instanceof Date ? value.getTime() : value,
  ])
  return Buffer.from(JSON.stringify(Object.fromEntries(fields))).toString('base64url')
}

/**
 * The position that a token stands for; `undefined` for an empty one. `fixed` are the fields that all items of the
 * list share, so that a token of another list does not pass. Throws 9000 for any text that is no token of this list.
 */
export function positionOf(
  token: string,
  fixed: Readonly<Record<string, string>>,
  open: OpenFields,
): Position | undefined {
  if (token === '') return undefined
  const given = token.length <= TOKEN_MAX ? decode(token) : undefined
  const position = given && read(given, open)
  if (!position || Object.entries(fixed).some(([field, value]) => given[field] !== value)) {
    throw fieldError(9000, 'page_token')
  }
  return { ...fixed, ...position }
}

function decode(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const given: unknown = JSON.parse(Buffer.from(token, 'base64url').toString())
    return typeof given === 'object' && given !== null ? { ...given } : undefined
  } catch {
    return undefined
  }
}

function read(given: Readonly<Record<string, unknown>>, open: OpenFields): Position | undefined {
  const position: Record<string, string | Date> = {}
  for (const [field, kind] of Object.entries(open)) {
    const value = given[field]
    if (kind === 'text' && typeof value === 'string' && value.isWellFormed()) position[field] = value
    else if (kind === 'instant' && isInstant(value)) position[field] = new Date(value)
    else return undefined
  }
  return position
}

function isInstant(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isNaN(new Date(value).getTime())
}

const PAGE_SIZE_DEFAULT = 25
const PAGE_SIZE_MAX = 100

/** The size of a page: 25 when 0 was asked for. Throws 9000 outside 1 to 100. */
export function pageSize(asked: number): number {
  if (asked === 0) return PAGE_SIZE_DEFAULT
  if (asked < 1 || asked > PAGE_SIZE_MAX) throw fieldError(9000, 'page_size')
  return asked
}
