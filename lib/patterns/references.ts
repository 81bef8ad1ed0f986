import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ReferenceQuery as ReferenceQueryProto } from '#gen/multihub/common/v1/reference_pb.ts'
import type { Money } from '#lib/contract/money.ts'
import { checkLine } from '#lib/contract/operator-fields.ts'
import { requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import { amountText } from '#lib/contract/shown-values.ts'
import { mayReveal } from '#lib/rpc/reveal.ts'
import type { Collection, Range } from '#lib/store/store.ts'
import { mergeRanges } from './paging/merge-ranges.ts'
import { decodePageToken, encodePageToken, type PageRequest } from './paging/read-page.ts'
import { type PartPage, type ReadPart, readParts } from './paging/read-parts.ts'

/** One thing that a search has found (O6). The title has no personal data. */
export interface Reference {
  readonly kind: string
  readonly id: string
  readonly merchant_id: string
  readonly title: string
  readonly time: Date
}

/** What to find: a text that the caller has typed, of one merchant or of all. */
export interface ReferenceQuery {
  readonly text: string
  readonly merchant_id: string | undefined
  /** Whether payments are found by the e-mail, phone or account number of their person. */
  readonly reveal: boolean
}

/** Finds the things of one kind that a text names. */
export type FindReferences = (query: ReferenceQuery, page: PageRequest) => Promise<PartPage<Reference>>

/** An e-mail address has at most 254 characters, all other identifiers fewer. */
const TEXT_MAX = 256

/** Accepts the text of a search, without the white space around it. Throws 1005 for an empty one, and 9000 for a wrong one. */
export function checkSearchText(text: string): string {
  return checkLine(requiredText(text.trim(), 'text'), 'text', TEXT_MAX)
}

/** Answers the RPC by which a role finds what a text names: a page of all of its kinds. */
export function answerReferences(kinds: readonly FindReferences[]) {
  return async ({ query: proto }: { readonly query?: ReferenceQueryProto | undefined }) => {
    const { text, merchantId, reveal, pageSize, pageToken } = requiredMessage(proto, 'query')
    const query: ReferenceQuery = {
      text: checkSearchText(text),
      merchant_id: merchantId === '' ? undefined : checkLine(merchantId, 'query.merchant_id'),
      reveal: mayReveal(reveal),
    }
    const parts = kinds.map(
      (find): ReadPart<Reference> =>
        (page) =>
          find(query, page),
    )
    const { items, next_page_token } = await readParts(parts, { page_size: pageSize, page_token: pageToken })
    const references = items.map(({ merchant_id, time, ...rest }) => ({
      ...rest,
      merchantId: merchant_id,
      time: timestampFromDate(time),
    }))
    return { references, nextPageToken: next_page_token }
  }
}

/** Finds a thing by its id, which names one thing at most among all merchants. */
export function referenceById<D extends { readonly merchant_id: string }>(
  find: (id: string, merchant_id: string | undefined) => Promise<D | undefined>,
  toReference: (document: D) => Reference,
): FindReferences {
  return async ({ text, merchant_id }, { page_token }) => {
    const found = page_token === '' ? await find(text, merchant_id) : undefined
    const is_shown = found && (merchant_id === undefined || found.merchant_id === merchant_id)
    return { items: is_shown ? [toReference(found)] : [], next_page_token: '' }
  }
}

/** A range of an index whose equal entries are in the order of the key. */
interface ReferenceRange {
  readonly index: string
  readonly equals: NonNullable<Range['equals']>
  /**
   * Values that make the first position of a merchant: a space, or the value of `equals`, for each field of the key after
   * `merchant_id` and, unless it indexes the elements of an array, of the index.
   */
  readonly start: Readonly<Record<string, string>>
}

/** How to find the documents of a collection whose key begins with `merchant_id` by several of their identifiers. */
interface ReferenceSource<D extends object> {
  readonly collection: Pick<Collection<D>, 'find'>
  readonly key: readonly [first: 'merchant_id', ...others: string[]]
  readonly rangesOf: (query: ReferenceQuery) => readonly ReferenceRange[]
  /** `undefined` for a document that no person may see. */
  readonly toReference: (document: D) => Reference | undefined
}

/** The most documents of a page of one kind: together with the one that follows, they fit one read of a store. */
const ITEMS_MAX = 500

/**
 * Finds the documents that are in one of several ranges, in the order of their keys and each once. The reads of a page are bounded
 * by its size and the number of ranges. Of one merchant, only the ranges from its first key on are read.
 */
export function referencesInRanges<D extends { readonly merchant_id: string }>({
  collection,
  key,
  rangesOf,
  toReference,
}: ReferenceSource<D>): FindReferences {
  const fields = Object.fromEntries(key.map((field) => [field, 'text'] as const))
  const keyOf = (document: D): Readonly<Record<string, string>> =>
    Object.fromEntries(key.map((field) => [field, String(Reflect.get(document, field))]))
  const compare = (a: D, b: D): number => compareKeys(Object.values(keyOf(a)), Object.values(keyOf(b)))
  return async (query, { page_size, page_token }) => {
    const { merchant_id } = query
    const size = Math.min(page_size, ITEMS_MAX)
    const ranges = rangesOf(query)
    let position = decodePageToken(page_token, {}, fields) as Readonly<Record<string, string>> | undefined
    const found: { readonly document: D; readonly reference: Reference }[] = []
    for (let has_more = true; has_more && found.length <= size; ) {
      const from = position ?? (merchant_id === undefined ? undefined : { merchant_id })
      const sources = ranges.map(({ index, equals, start }) => ({
        index,
        range: { equals },
        after: from && { ...start, ...from },
      }))
      const limit = size + 1
      const read = await mergeRanges<D>(collection, sources, { limit, reverse: false, compare })
      const own = read.filter((document) => merchant_id === undefined || document.merchant_id === merchant_id)
      for (const [at, document] of own.entries()) {
        const before = own[at - 1]
        // A document that several of its identifiers lead to comes several times in a row.
        if (before !== undefined && compare(before, document) === 0) continue
        const reference = toReference(document)
        if (reference !== undefined) found.push({ document, reference })
      }
      has_more = read.length === limit && own.length === read.length
      const end = own.at(-1)
      position = end && keyOf(end)
    }
    const shown = found.slice(0, size)
    const last = shown.at(-1)
    return {
      items: shown.map(({ reference }) => reference),
      next_page_token: last && found.length > size ? encodePageToken(keyOf(last.document)) : '',
    }
  }
}

/** The order of keys in a store: by their parts, each by its bytes. */
function compareKeys(a: readonly string[], b: readonly string[]): number {
  const differing = a.findIndex((part, at) => part !== b[at])
  if (differing === -1) return 0
  return Buffer.compare(Buffer.from(a[differing] ?? ''), Buffer.from(b[differing] ?? ''))
}

/** The amount in a title, such as `1,230.00 INR`. */
export function amountInTitle({ minor, currency }: Money): string {
  return amountText(minor, currency, { is_minor: false })
}
