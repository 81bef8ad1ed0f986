import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { CredentialPolicySchema } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { Caller } from '../auth/caller.ts'

/** The merchant and environment of the caller: the first fields of each RPC that a method calls. */
export function ownerOf({ merchant_id, environment }: Pick<Caller, 'merchant_id' | 'environment'>) {
  return { merchantId: merchant_id, environment: environmentToProto(environment) }
}

/** The restrictions of the caller's credential, which the payments service applies to the route of the payment (E9). */
export function credentialPolicy({
  application_id,
  service_ids,
  currencies,
}: Caller): MessageInitShape<typeof CredentialPolicySchema> {
  return { applicationId: application_id, serviceIds: [...service_ids], currencies: [...currencies] }
}

/** The identifiers of a resource in a request: exactly one of them has a value. */
interface Identifiers {
  readonly c_id?: string
  readonly h_id?: string
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

/** The bounds of the creation in a list or a summary. */
export function createdBounds({
  created_from,
  created_to,
}: {
  readonly created_from?: Date
  readonly created_to?: Date
}) {
  return {
    ...(created_from && { createdFrom: timestampFromDate(created_from) }),
    ...(created_to && { createdTo: timestampFromDate(created_to) }),
  }
}
