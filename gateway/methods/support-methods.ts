import type { DescService } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { EnumMap } from '#lib/contract/proto-fields.ts'
import { OUR_ID } from '#lib/contract/public-support.ts'
import { COMMENT_AUTHORS } from '#lib/contract/ticket.ts'
import { type JsonSchema, objectField, record, textField, type View, wordField } from '#lib/contract/view.ts'
import { type JsonValue, payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { instant, integer, text, uuid, word } from '../json/scalars.ts'
import { described, list, notApplicable, object, optional, type Schema } from '../json/schema.ts'
import { defineMethod, type MethodDescription, type PublicMethod } from './method.ts'
import { MERCHANT_REFERENCE, METHOD } from './request-fields.ts'

/** What each descriptor of a support method says itself. */
type Description = Pick<MethodDescription, 'name' | 'scope' | 'refusals' | 'summary' | 'description'>

/** The merchant and environment of the caller: the first fields of each RPC. */
type MerchantScope = ReturnType<typeof scopeToProto>

/** Declares the method that shows one resource, such as `ticket.get`. `find` gets the identifiers of the request. */
export function defineGet<S extends DescService, Identifiers, Message>({
  service,
  view,
  identifiers,
  example,
  find,
  ...description
}: Description & {
  readonly service: S
  readonly view: View<Message>
  readonly identifiers: Schema<Identifiers, 'required'>
  readonly example: Identifiers
  readonly find: (
    client: Client<S>,
    scope: MerchantScope,
    identifiers: Identifiers,
  ) => Promise<Message | undefined>
}): PublicMethod {
  return defineMethod({
    ...description,
    default_quota: 120,
    example: { params: { identifiers: example } },
    request: supportRequest(object({ identifiers }) as Schema<{ identifiers: Identifiers }, 'required'>),
    result: view.schema,
    result_components: view.components,
    createHandler({ clientOf }) {
      const client = clientOf(service)
      return async ({ params }, caller) =>
        view.render(await find(client, scopeToProto(caller), params.identifiers))
    },
  })
}

/** The parameters that every list has; `createdBounds` reads those that a list of comments does not have. */
interface ListParams extends CreatedBounds {
  readonly limit?: number
  readonly cursor?: string
}

/** What every list asks of its service. */
type PageRequest = MerchantScope &
  ReturnType<typeof createdBounds> & { readonly limit: number; readonly cursor: string }

/** Declares the method that lists resources page by page, such as `ticket.list` (S6). */
export function defineList<S extends DescService, Params extends ListParams, Message>({
  service,
  view,
  params,
  example,
  findPage,
  ...description
}: Description & {
  readonly service: S
  readonly view: View<Message>
  readonly params: Schema<Params, 'required'>
  readonly example: Readonly<Record<string, unknown>>
  readonly findPage: (
    client: Client<S>,
    page: PageRequest,
    params: Params,
  ) => Promise<{ readonly items: readonly Message[]; readonly nextCursor: string }>
}): PublicMethod {
  return defineMethod({
    ...description,
    default_quota: 120,
    example: { params: example },
    request: supportRequest(params),
    result: pageOf(view.schema),
    result_components: view.components,
    createHandler({ clientOf }) {
      const client = clientOf(service)
      return async ({ params }, caller) => {
        const { limit = 0, cursor = '' } = params
        const page = { ...scopeToProto(caller), ...createdBounds(params), limit, cursor }
        const { items, nextCursor } = await findPage(client, page, params)
        return {
          items: items.map((item) => view.render(item)),
          next_cursor: nextCursor === '' ? null : nextCursor,
        }
      }
    },
  })
}

/** The schema of a page of a list of support resources (S6). */
export function pageOf(items: JsonSchema): JsonSchema {
  return record({
    items: { type: 'array', items, maxItems: 100 },
    next_cursor: { type: ['string', 'null'], description: 'Null on the last page.' },
  })
}

/** What every list of tickets, refunds and chargebacks says beyond its summary. */
export const LIST_DESCRIPTION =
  'Filters can be combined; a filter without words restricts nothing. A cursor is valid with the same filters only, ' +
  'otherwise it is refused with 9000. A page costs the same at any depth.'

const COUNT = { type: 'integer', minimum: 0 }

/** Declares the method that counts resources by status, such as `ticket.summary` (S11). */
export function defineSummary<S extends DescService, Status extends string, Value extends number>({
  service,
  statuses,
  count,
  ...description
}: Omit<Description, 'description' | 'refusals'> & {
  readonly service: S
  readonly statuses: EnumMap<Status, Value>
  readonly count: (
    client: Client<S>,
    request: MerchantScope & ReturnType<typeof createdBounds>,
  ) => Promise<{ readonly counts: readonly { readonly status: Value; readonly count: bigint }[] }>
}): PublicMethod {
  return defineMethod({
    ...description,
    default_quota: 30,
    refusals: [],
    description:
      'Every status is present, also with 0. The counts include everything that was answered before.',
    example: { params: { created_from: '2026-11-01T00:00:00Z' } },
    request: supportRequest(object(CREATED_FIELDS)),
    result: record({ by_status: record(Object.fromEntries(statuses.names.map((name) => [name, COUNT]))) }),
    createHandler({ clientOf }) {
      const client = clientOf(service)
      return async ({ params }, caller) => {
        const { counts } = await count(client, { ...scopeToProto(caller), ...createdBounds(params) })
        const entries = counts.map(
          ({ status, count }) => [statuses.fromProtoOrThrow(status, 'status'), Number(count)] as const,
        )
        return { by_status: Object.fromEntries(entries) }
      }
    },
  })
}

/** What every change asks of its service: the caller, the idempotency key and the hash of what it stands for (S3). */
type KeyedRequest = MerchantScope & { readonly operationId: string; readonly payloadHash: string }

/** Declares a method that changes something once per `operation_id`, such as `ticket.reopen` (S3). */
export function defineChange<S extends DescService, Params extends JsonValue, Message>({
  service,
  view,
  params,
  example,
  change,
  refusals,
  ...description
}: Description & {
  readonly service: S
  readonly view: View<Message>
  readonly params: Schema<Params, 'required'>
  readonly example: { readonly operation_id: string; readonly params: object }
  readonly change: (client: Client<S>, key: KeyedRequest, params: Params) => Promise<Message | undefined>
}): PublicMethod {
  return defineMethod({
    ...description,
    default_quota: 30,
    refusals: [...refusals, 1013],
    example,
    request: keyedRequest(params),
    result: view.schema,
    result_components: view.components,
    createHandler({ clientOf }) {
      const client = clientOf(service)
      return async ({ operation_id, params }, caller) => {
        const key = {
          ...scopeToProto(caller),
          operationId: operation_id,
          payloadHash: payloadHash(params),
        }
        return view.render(await change(client, key, params))
      }
    },
  })
}

/** The request of a support method that is not keyed by an `operation_id`. None takes a `service_id`. */
export function supportRequest<Params>(
  params: Schema<Params, 'required'>,
): Schema<{ readonly params: Params }, 'required'> {
  const fields = { method: METHOD, service_id: notApplicable(), operation_id: notApplicable(), params }
  // TypeScript does not resolve the type of a field whose type is a parameter.
  return object(fields) as unknown as Schema<{ readonly params: Params }, 'required'>
}

/** The request of a change that is keyed by its `operation_id` (S3). */
export function keyedRequest<Params>(
  params: Schema<Params, 'required'>,
): Schema<{ readonly operation_id: string; readonly params: Params }, 'required'> {
  const operation_id = described(
    'The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013.',
    text(MERCHANT_REFERENCE),
  )
  const fields = { method: METHOD, service_id: notApplicable(), operation_id, params }
  return object(fields) as unknown as Schema<
    { readonly operation_id: string; readonly params: Params },
    'required'
  >
}

/** The reference that a merchant gives a new resource. */
export const NEW_IDENTIFIERS = object({ c_id: described('Your own reference.', text(MERCHANT_REFERENCE)) })

/** A resource by the only identifier that it has: ours. */
export const OUR_IDENTIFIER = object({ h_id: described('Our identifier.', uuid()) })

/** What the comments of tickets and refunds show first: which side wrote them, never who. */
export const COMMENT_FIELDS = {
  identifiers: objectField<{ commentId: string }>({ h_id: textField(({ commentId }) => commentId, OUR_ID) }),
  author: wordField(COMMENT_AUTHORS, 'author'),
  body: textField<{ body: string }>(({ body }) => body),
}

/** The text of a comment of a ticket or a refund (S1). */
export const COMMENT_BODY = text({ min: 1, max: 5_000 })

/** The page of a list (S6). */
export const PAGE_FIELDS = {
  limit: described('The size of the page; 25 without one.', optional(integer({ min: 1, max: 100 }))),
  cursor: described(
    'The `next_cursor` of the page before, unchanged, with the same filters.',
    optional(text({ min: 1, max: 1_024 })),
  ),
} as const

/** The bounds of the creation in a list or a summary. */
export const CREATED_FIELDS = {
  created_from: described('Created at this time or later.', optional(instant())),
  created_to: described('Created before this time.', optional(instant())),
} as const

/** A filter of a list: some words of a fixed set. */
export function wordsOf<const Word extends string>(
  words: readonly Word[],
): Schema<readonly Word[], 'optional'> {
  return optional(list(word(words), { max: words.length }))
}

/** The identifiers of a resource in a request: exactly one of them has a value. */
type Identifiers = { readonly c_id?: string; readonly h_id?: string }

/** A resource of a support method, by its `c_id` or its `h_id`: exactly one of them. */
export function resourceIdentifiers(): Schema<Identifiers, 'required'> {
  return object(
    {
      c_id: described('Your own reference.', optional(text(MERCHANT_REFERENCE))),
      h_id: described('Our identifier.', optional(uuid())),
    },
    { exactly_one: ['c_id', 'h_id'] },
  )
}

/** A payment that a support method is about, by its `c_id` or its `h_id`, which is not a UUID on every route (P1). */
export function paymentIdentifiers(): Schema<Identifiers, 'required'> {
  return object(
    {
      c_id: described('Your own reference of the payment.', optional(text(MERCHANT_REFERENCE))),
      h_id: described('Our identifier of the payment.', optional(text({ min: 1, max: 128 }))),
    },
    { exactly_one: ['c_id', 'h_id'] },
  )
}

/** A ticket, a refund, or the payment of listed tickets, by its one identifier. */
export function resourceReference({ c_id, h_id = '' }: Identifiers) {
  return {
    id:
      c_id === undefined ? ({ case: 'hId', value: h_id } as const) : ({ case: 'cId', value: c_id } as const),
  }
}

/** The payment of refunds or chargebacks by its one identifier. Their messages have the identifiers as fields of their own. */
export function paymentIdentifierToProto({ c_id, h_id = '' }: Identifiers) {
  return c_id === undefined
    ? ({ case: 'paymentHId', value: h_id } as const)
    : ({ case: 'paymentCId', value: c_id } as const)
}

interface CreatedBounds {
  readonly created_from?: Date
  readonly created_to?: Date
}

function createdBounds({ created_from, created_to }: CreatedBounds) {
  return {
    createdFrom: created_from && timestampFromDate(created_from),
    createdTo: created_to && timestampFromDate(created_to),
  }
}
