import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { CredentialPolicy } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { type ScopeFields, scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { createdRange, requiredId } from '#lib/contract/operator-fields.ts'
import type { Policy } from '#lib/contract/policy.ts'
import { type EnumMap, requiredText } from '#lib/contract/proto-fields.ts'
import type { Collection } from '#lib/store/store.ts'
import type { ResourceFilter } from '../domain/resource-list.ts'
import type { ResourceQuery } from '../domain/support-resource.ts'
import type { OperatorFilter } from '../use-cases/list-resources.ts'
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

/** Maps what the operator's list of a merchant shows. Throws 9000 for an unknown enum value. */
export function operatorFilterFromProto(
  request: ScopeFields & { readonly statuses: readonly number[] },
  statuses: EnumMap<string, number>,
): OperatorFilter {
  return {
    merchant_id: requiredId(request.merchantId, 'merchant_id'),
    environment: ENVIRONMENTS.optional(request.environment, 'environment'),
    statuses: statuses.requiredEach(request.statuses, 'statuses'),
  }
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
