import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { CredentialPolicy } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { type ScopeFields, scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { checkLine, createdRange } from '#lib/contract/operator-fields.ts'
import type { Policy } from '#lib/contract/policy.ts'
import { type EnumMap, requiredText } from '#lib/contract/proto-fields.ts'
import type { PageRequest } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import type { ResourceFilter } from '../domain/resource-list.ts'
import type { ResourceQuery } from '../domain/support-resource.ts'
import type { OperatorFilter } from '../use-cases/list-for-operator.ts'
import type { Mutation } from '../use-cases/mutation.ts'
import { createSummary } from '../use-cases/summarize.ts'

/** The one identifier of a resource in a request, of a oneof with these cases. */
interface Identifier {
  readonly id: { readonly case: 'cId' | 'hId'; readonly value: string } | { readonly case: undefined }
}

/** Maps the reference to a merchant's resource; `field` is its name in the request. Throws 1005 without an identifier. */
export function queryFromProto(
  request: ScopeFields,
  reference: Identifier | undefined,
  field: 'ticket' | 'refund',
): ResourceQuery {
  const { id } = reference ?? {}
  if (!id?.case) throw fieldError(1005, field)
  return { ...scopeFromProto(request), by: id.case === 'cId' ? 'c_id' : 'h_id', id: id.value }
}

/** Maps the key of a mutation. Throws 1005 without it. */
export function mutationFromProto(
  request: ScopeFields & { readonly operationId: string; readonly payloadHash: string },
): Mutation {
  return {
    ...scopeFromProto(request),
    key: requiredText(request.operationId, 'operation_id'),
    payload_hash: requiredText(request.payloadHash, 'payload_hash'),
  }
}

/** Maps the restrictions of the credential; none restrict nothing. */
export function policyFromProto(policy: CredentialPolicy | undefined): Policy {
  return { service_ids: policy?.serviceIds ?? [], currencies: policy?.currencies ?? [] }
}

/** Maps the payment that restricts a list, if one does. */
export function paymentFilter(payment: {
  readonly case?: 'cId' | 'hId' | 'paymentCId' | 'paymentHId' | undefined
  readonly value?: string | undefined
}): ResourceFilter['payment'] {
  if (payment.case === undefined) return undefined
  const by = payment.case === 'cId' || payment.case === 'paymentCId' ? 'c_id' : 'h_id'
  return { by, id: payment.value ?? '' }
}

interface CreatedFields {
  readonly createdFrom?: Timestamp | undefined
  readonly createdTo?: Timestamp | undefined
}

/** Maps what a merchant's list of refunds or chargebacks shows. Throws 9000 for an unknown status. */
export function filterFromProto(
  request: ScopeFields &
    CreatedFields & {
      readonly statuses: readonly number[]
      readonly payment: Parameters<typeof paymentFilter>[0]
    },
  statuses: EnumMap<string, number>,
): ResourceFilter {
  return {
    ...scopeFromProto(request),
    only: { status: statuses.requiredEach(request.statuses, 'statuses') },
    payment: paymentFilter(request.payment),
    ...createdRange(request),
  }
}

/** The fields of each list of the operator. */
interface OperatorListFields extends CreatedFields {
  readonly merchantId?: string | undefined
  readonly environment: number
  readonly statuses: readonly number[]
  readonly paymentId: string
  readonly oldestFirst: boolean
  readonly pageSize: number
  readonly pageToken: string
}

/** Maps what a list of the operator shows, in which order, and its page. Throws 9000 for a wrong field. */
export function operatorListFromProto(
  request: OperatorListFields,
  statuses: EnumMap<string, number>,
): { readonly filter: OperatorFilter; readonly page: PageRequest & { readonly oldest_first: boolean } } {
  const { merchantId = '', paymentId, pageSize: page_size, pageToken: page_token } = request
  return {
    filter: {
      merchant_id: checkLine(merchantId, 'merchant_id') || undefined,
      environment: ENVIRONMENTS.optional(request.environment, 'environment'),
      only: { status: statuses.requiredEach(request.statuses, 'statuses') },
      payment_id: checkLine(paymentId, 'payment_id') || undefined,
      ...createdRange(request),
    },
    page: { page_size, page_token, oldest_first: request.oldestFirst },
  }
}

/** Refuses with 9000 what a list by deadline cannot be combined with. */
export function checkByDeadline({
  paymentId,
  createdFrom,
  createdTo,
  oldestFirst,
}: OperatorListFields): void {
  const given = { payment_id: paymentId, created_from: createdFrom, created_to: createdTo }
  for (const [field, value] of Object.entries({ ...given, oldest_first: oldestFirst }))
    if (value) throw fieldError(9000, field, 'absent in a list by deadline')
}

/** Serves the summary of one kind of resources, with its statuses in the order of their declaration (S11). */
export function serveSummary<Status extends string, Proto extends number>(
  collection: Pick<Collection<never>, 'count'>,
  statuses: EnumMap<Status, Proto>,
) {
  const summarize = createSummary(collection, statuses.names)
  return async (request: ScopeFields & CreatedFields) => {
    const counts = await summarize({ ...scopeFromProto(request), ...createdRange(request) })
    return {
      counts: statuses.names.map((status) => ({
        status: statuses.toProto(status),
        count: BigInt(counts[status]),
      })),
    }
  }
}
