import { fieldError } from './errors/public-error.ts'

/** The position of the last item of a page: the fields of the index and of the key, as that item had them. */
export type Position = Readonly<Record<string, string | number | bigint | Date>>

const TOKEN_MAX = 2048
const TAGS = { s: String, n: Number, b: BigInt, d: (text: string) => new Date(Number(text)) } as const

/**
 * A page token for internal lists: opaque to the caller, not secret and not signed, because whoever may list may read
 * everything in the list anyway. (Merchants' cursors are another matter: S6.)
 */
export function pageToken(position: Position): string {
  const tagged = Object.entries(position).map(([field, value]) => {
    if (value instanceof Date) return [field, 'd', String(value.getTime())]
    const tag = typeof value === 'string' ? 's' : typeof value === 'number' ? 'n' : 'b'
    return [field, tag, String(value)]
  })
  return Buffer.from(JSON.stringify(tagged)).toString('base64url')
}

/** The position of a token with just these fields; `undefined` for an empty token. Throws 9000 for any other text. */
export function positionOf(token: string, fields: readonly string[]): Position | undefined {
  if (token === '') return undefined
  const position = token.length <= TOKEN_MAX ? decode(token) : undefined
  const found = position && Object.keys(position)
  if (
    !position ||
    found?.length !== fields.length ||
    !fields.every((field) => Object.hasOwn(position, field))
  ) {
    throw fieldError(9000, 'page_token')
  }
  return position
}

function decode(token: string): Position | undefined {
  try {
    const tagged: unknown = JSON.parse(Buffer.from(token, 'base64url').toString())
    if (!Array.isArray(tagged)) return undefined
    return Object.fromEntries(
      tagged.map(([field, tag, text]) => [String(field), untag(String(tag), String(text))]),
    )
  } catch {
    return undefined
  }
}

function untag(tag: string, text: string): string | number | bigint | Date {
  if (tag !== 's' && tag !== 'n' && tag !== 'b' && tag !== 'd') throw new TypeError('not a tag')
  const value = TAGS[tag](text)
  if (Number.isNaN(value instanceof Date ? value.getTime() : value)) throw new TypeError('not a value')
  return value
}

const PAGE_SIZE_DEFAULT = 25
const PAGE_SIZE_MAX = 100

/** The size of a page: 25 when 0 was asked for. Throws 9000 outside 1 to 100. */
export function pageSize(asked: number): number {
  if (asked === 0) return PAGE_SIZE_DEFAULT
  if (asked < 1 || asked > PAGE_SIZE_MAX) throw fieldError(9000, 'page_size')
  return asked
}
