import type { MessageInitShape } from '@bufbuild/protobuf'
import { CallbackService, type TriggerEventRequest } from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import type { ReferenceSchema } from '#gen/multihub/common/v1/reference_pb.ts'
import { TestRequestService } from '#gen/multihub/gateway/v1/test_request_service_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { currentRequest } from '#lib/base/context.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { clock } from '#lib/base/time.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { AMOUNT_MAX } from '#lib/contract/money.ts'
import { checkLine, requiredId } from '#lib/contract/operator-fields.ts'
import { PAYMENT_STATUSES } from '#lib/contract/payment-status.ts'
import { CHARGEBACK_STATUSES, REFUND_STATUSES } from '#lib/contract/public-support.ts'
import { TICKET_CATEGORIES, TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { amountInTitle } from '#lib/patterns/references.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { planOf } from '../domain/trigger-plan.ts'
import {
  type CreatedResources,
  type Trigger,
  type TriggerOwners,
  triggerEvent,
} from '../use-cases/trigger-event.ts'

/** The longest wait of one call, and what remains of its deadline for the answer. */
const WAIT_MAX_MS = 30_000
const ANSWER_MS = 1_000

/** The owners of what triggers make. */
export function triggerOwners(clientOf: ClientOf): TriggerOwners {
  return {
    gateway: clientOf(TestRequestService),
    credentials: clientOf(CredentialService),
    routes: clientOf(RouteService),
    payments: clientOf(PaymentService),
    refunds: clientOf(RefundService),
    chargebacks: clientOf(ChargebackService),
    tickets: clientOf(TicketService),
  }
}

/** Serves what merchants' developers let happen. The streams of the service are in the door. */
export function createTriggerRpc(owners: TriggerOwners): RpcService {
  return rpcService(CallbackService, {
    triggerEvent: by(['backoffice'], async (request) => {
      const trigger = triggerOf(request)
      const { made, pending } = await triggerEvent(owners, trigger)
      return { references: referencesOf(made), cId: trigger.c_id, pending }
    }),
  })
}

/** Checks the form of a request. */
function triggerOf(request: TriggerEventRequest): Trigger {
  const merchant_id = requiredId(request.merchantId, 'merchant_id')
  const application_id = requiredId(request.applicationId, 'application_id')
  const operation_id = requiredId(request.operationId, 'operation_id')
  const steps = planOf(request.event, request.status)
  const { minor = 0n, currency = '' } = request.amount ?? {}
  if (minor < 0n || minor > AMOUNT_MAX - 1_000n)
    throw fieldError(9000, 'amount.minor', `from 1 to ${AMOUNT_MAX - 1_000n}, or 0 for any`)
  // A digest, because every text of a key must fit into all keys of the public API.
  const key = sha256Hex(JSON.stringify([merchant_id, operation_id])).slice(0, 32)
  const { event, status, serviceId } = request
  const content = [application_id, event, status, String(minor), currency, request.cId, serviceId]
  const c_id = checkLine(request.cId, 'c_id')
  const left_ms = (currentRequest()?.deadline_ms ?? Infinity) - clock.monotonic_ms()
  return {
    merchant_id,
    application_id,
    steps,
    c_id: c_id === '' ? `trigger-${key}` : c_id,
    mark: `TriggerEvent ${event} ${sha256Hex(JSON.stringify([key, ...content])).slice(0, 32)}`,
    minor: minor === 0n ? undefined : minor,
    currency: checkLine(currency, 'amount.currency'),
    service_id: serviceId,
    until_ms: clock.monotonic_ms() + Math.min(left_ms - ANSWER_MS, WAIT_MAX_MS),
  }
}

type ReferenceInit = MessageInitShape<typeof ReferenceSchema>

/** What was made, as a search shows it. */
function referencesOf({ payment, refund, chargeback, ticket }: CreatedResources): ReferenceInit[] {
  const references: ReferenceInit[] = []
  const add = (
    kind: string,
    id: string,
    { merchantId, createTime }: Pick<NonNullable<CreatedResources['payment']>, 'merchantId' | 'createTime'>,
    title: string,
  ): void => {
    references.push({
      kind,
      id,
      merchantId,
      title: `test: ${title}`,
      ...(createTime && { time: createTime }),
    })
  }
  const amountOf = ({ amount }: Pick<NonNullable<CreatedResources['payment']>, 'amount'>): string =>
    amount === undefined ? '' : amountInTitle(amount)
  if (payment) {
    const status = PAYMENT_STATUSES.required(payment.status, 'status')
    add('payment', payment.paymentId, payment, `deposit of ${amountOf(payment)}, ${status}`)
  }
  if (refund) {
    const status = REFUND_STATUSES.required(refund.status, 'status')
    add('refund', refund.refundId, refund, `refund of ${amountOf(refund)}, ${status}`)
  }
  if (chargeback) {
    const status = CHARGEBACK_STATUSES.required(chargeback.status, 'status')
    add('chargeback', chargeback.chargebackId, chargeback, `chargeback of ${amountOf(chargeback)}, ${status}`)
  }
  if (ticket) {
    const category = TICKET_CATEGORIES.required(ticket.category, 'category')
    add(
      'ticket',
      ticket.ticketId,
      ticket,
      `ticket, ${category}, ${TICKET_STATUSES.required(ticket.status, 'status')}`,
    )
  }
  return references
}
