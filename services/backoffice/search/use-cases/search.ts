import { Code } from '@connectrpc/connect'
import type { PageRequest } from '#lib/patterns/paging/read-page.ts'
import { type PartPage, type ReadPart, readParts } from '#lib/patterns/paging/read-parts.ts'
import type { ReferenceQuery } from '#lib/patterns/references.ts'
import { toCallerError } from '#lib/rpc/errors.ts'
import { log } from '#lib/telemetry/log.ts'

/** A role that knows a part of what a text can name. */
export interface SearchSource<R> {
  readonly role: string
  find(query: ReferenceQuery, page: PageRequest): Promise<PartPage<R>>
}

/** A page of what was found, with the roles that could not be asked. */
interface SearchResult<R> {
  readonly references: readonly R[]
  readonly next_page_token: string
  readonly unavailable: readonly string[]
}

/**
 * Asks all roles at once, in whose order the references come. What an unavailable role knows is missing, and the result says so.
 * Throws 9000 for a wrong text, page size or token.
 */
export async function search<R>(
  sources: readonly SearchSource<R>[],
  query: ReferenceQuery,
  page: PageRequest,
): Promise<SearchResult<R>> {
  const unavailable = new Set<string>()
  const parts = sources.map(
    ({ role, find }): ReadPart<R> =>
      async (part_page) => {
        try {
          return await find(query, part_page)
        } catch (error) {
          if (toCallerError(error).code === Code.InvalidArgument) throw error
          log.warn({ error, role }, 'a search goes on without a role that could not be asked')
          unavailable.add(role)
          return { items: [], next_page_token: '' }
        }
      },
  )
  const { items, next_page_token } = await readParts(parts, page)
  return { references: items, next_page_token, unavailable: [...unavailable].sort() }
}
