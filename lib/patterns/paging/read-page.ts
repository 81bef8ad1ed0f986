import type { Collection, Range, Stored } from '#lib/store/store.ts'
import { checkPageSize } from './page-size.ts'
import { decodePageToken, encodePageToken, type Position, type PositionFields } from './page-token.ts'

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
  /** The other fields of the position, which each item has: those of the index, then those of the key. */
  readonly position: PositionFields
  /** Selects the items of the list; all of them unless given. */
  readonly matches?: (document: D) => boolean
}

/** The documents that one call reads when its filter matches few of them. The token continues after the last one. */
const READ_MAX = 2_000
const READ_SIZE = 200

/** Reads a page of a list. Throws 9000 for a page size outside 1 to 100 and for a token of another list. */
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
    const documents = await collection.find(index, range, { limit, reverse, ...(after ? { after } : {}) })
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
