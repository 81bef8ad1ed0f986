import { toBinary } from '@bufbuild/protobuf'
import { Direction as DirectionProto } from '#gen/multihub/merchants/v1/route_pb.ts'
import { MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import type {
  CreatePaymentRequest as CreatePaymentRequestProto,
  CredentialPolicy,
  FindPaymentRequest,
  GetPaymentRequest,
  ListPaymentsRequest,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import type { BankAccount } from '#lib/contract/bank-account.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { createdRange, optionalId, requiredId } from '#lib/contract/operator-fields.ts'
import { DIRECTIONS } from '#lib/contract/payment-methods.ts'
import { PAYMENT_STATUSES } from '#lib/contract/payment-status.ts'
import type { Policy } from '#lib/contract/policy.ts'
import { requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import type { CreatePaymentRequest } from '../domain/new-payment.ts'
import type { PaymentName, PaymentQuery } from '../use-cases/find-payment.ts'
import type { PaymentFilter } from '../use-cases/list-payments.ts'

/** Maps the request for a new payment. Throws 1005 for a required field without a value. */
export function createRequestFromProto(request: CreatePaymentRequestProto): CreatePaymentRequest {
  const { webhook } = request
  const amount = requiredMessage(request.amount, 'amount')
  return {
    ...scopeFromProto(request),
    policy: policyFromProto(request.policy),
    // A service_id without a route, 0 included, is refused with 1004 (E9).
    service_id: request.serviceId,
    direction: DIRECTIONS.required(request.direction, 'direction'),
    c_id: requiredText(request.cId, 'c_id'),
    amount: amount.minor,
    currency: requiredText(amount.currency, 'amount.currency'),
    details: request.details && toBinary(MerchantDetailsSchema, request.details),
    ...(request.direction === DirectionProto.OUT && {
      beneficiary: beneficiaryOf(request),
      payload_hash: requiredText(request.payloadHash, 'payload_hash'),
    }),
    webhook: webhook && { url: webhook.url, sealed_secret: webhook.sealedSecret },
  }
}

/** Maps the fields that all requests about a merchant's own payment share. */
export function paymentQueryFromProto(
  request: Pick<FindPaymentRequest, 'merchantId' | 'environment' | 'policy' | 'cId' | 'hId'>,
): PaymentQuery {
  return {
    ...scopeFromProto(request),
    policy: policyFromProto(request.policy),
    c_id: request.cId,
    h_id: request.hId,
  }
}

/**
 * Maps how a person names a payment: by `payment_id`, by `h_id`, or by `merchant_id`, `environment` and `c_id`. Throws 1005
 * without any of them, and 9000 for two of them, because they could name two payments.
 */
export function paymentNameFromProto(request: GetPaymentRequest): PaymentName {
  const { paymentId, hId, cId } = request
  const [name, second] = Object.entries({ payment_id: paymentId, h_id: hId, c_id: cId }).filter(
    ([, text]) => text !== '',
  )
  if (name === undefined) throw fieldError(1005, 'payment_id')
  if (second !== undefined) throw fieldError(9000, second[0], 'only one name of the payment')
  const id = requiredId(name[1], name[0])
  return cId === '' ? id : { ...scopeFromProto(request), c_id: id }
}

/**
 * Maps the filter of a list of payments. Throws 9000 for an unknown enum value, an impossible time, and an account together with
 * a merchant or a route, for which there is no index.
 */
export function filterFromProto(request: ListPaymentsRequest): PaymentFilter {
  const { merchantId, serviceId, accountId } = request
  const has_service = serviceId !== '' && serviceId !== '0'
  if (accountId !== '' && (merchantId !== '' || has_service))
    throw fieldError(9000, 'account_id', 'without merchant_id and service_id')
  return {
    merchant_id: optionalId(merchantId, 'merchant_id'),
    service_id: has_service ? serviceId : undefined,
    account_id: optionalId(accountId, 'account_id'),
    environment: ENVIRONMENTS.optional(request.environment, 'environment'),
    statuses: PAYMENT_STATUSES.requiredEach(request.statuses, 'statuses'),
    ...createdRange(request),
  }
}

/** The bank account of the recipient, which only a withdrawal has. */
function beneficiaryOf(request: CreatePaymentRequestProto): BankAccount {
  const { accountId: account_id, ifsc, bankCode } = requiredMessage(request.beneficiary, 'beneficiary')
  return { account_id, ifsc, bank_code: bankCode }
}

function policyFromProto(policy: CredentialPolicy | undefined): Policy {
  return { service_ids: policy?.serviceIds ?? [], currencies: policy?.currencies ?? [] }
}
