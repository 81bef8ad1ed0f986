import { fieldError } from '#lib/contract/errors/public-error.ts'
import { checkPageSize, type PageRequest } from './read-page.ts'

/** A page of one part of a list. An empty token ends the part. */
export interface PartPage<T> {
  readonly items: readonly T[]
  readonly next_page_token: string
}

/** Reads a page of one part of a list, with at most `page_size` items. */
export type ReadPart<T> = (page: PageRequest) => Promise<PartPage<T>>

/**
 * Reads several parts as one list: the items of the first part, then of the second, and so on. All parts are asked at once,
 * each for a page, so an answer takes as long as the slowest of them. The token has the part that goes on and its own token.
 * Throws 9000 for a wrong page size or token.
 */
export async function readParts<T>(
  parts: readonly ReadPart<T>[],
  { page_size, page_token }: PageRequest,
): Promise<PartPage<T>> {
  const size = checkPageSize(page_size)
  const { part: first, token } = decode(page_token, parts.length)
  const tokenOf = (part: number): string => (part === first ? token : '')
  const pages = await Promise.all(
    parts.slice(first).map((read, at) => read({ page_size: size, page_token: tokenOf(first + at) })),
  )
  const items: T[] = []
  for (const [at, read] of parts.slice(first).entries()) {
    const part = first + at
    let page = pages[at] ?? { items: [], next_page_token: '' }
    const room = size - items.length
    if (room === 0 && page.items.length > 0) return { items, next_page_token: encode(part, '') }
    // Only the part itself knows the token after its last item that fits.
    if (page.items.length > room) page = await read({ page_size: room, page_token: tokenOf(part) })
    items.push(...page.items)
    if (page.next_page_token !== '') return { items, next_page_token: encode(part, page.next_page_token) }
  }
  return { items, next_page_token: '' }
}

function encode(part: number, token: string): string {
  return `${part}.${token}`
}

function decode(token: string, parts: number): { readonly part: number; readonly token: string } {
  if (token === '') return { part: 0, token: '' }
  const [, digits, rest = ''] = /^([0-9]{1,3})\.(.*)$/s.exec(token) ?? []
  const part = Number(digits ?? parts)
  if (part >= parts) throw fieldError(9000, 'page_token')
  return { part, token: rest }
}
