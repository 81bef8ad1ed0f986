import type { Client } from '@connectrpc/connect'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import type { TestRequestService } from '#gen/multihub/gateway/v1/test_request_service_pb.ts'
import type { Credential } from '#gen/multihub/merchants/v1/credential_pb.ts'
import type { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import type { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import type { Chargeback } from '#gen/multihub/support/v1/chargeback_pb.ts'
import type { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import type { Refund } from '#gen/multihub/support/v1/refund_pb.ts'
import type { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { type Ticket, TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import type { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { PAYMENT_STATUSES } from '#lib/contract/payment-status.ts'
import { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import { TICKET_STATUSES, type TicketStatus as TicketStatusName } from '#lib/contract/ticket.ts'
import { chooseRoute } from '../domain/choose-route.ts'
import { amountFor, type Outcome } from '../domain/test-amount.ts'
import type { Step } from '../domain/trigger-plan.ts'
import { fromOwner, isRefusal } from './from-owner.ts'
import { type PublicRequest, publicRefusal, type Sender, sendPublic } from './public-request.ts'

/** The owners of what a trigger makes. */
export interface TriggerOwners {
  readonly gateway: Client<typeof TestRequestService>
  readonly credentials: Client<typeof CredentialService>
  readonly routes: Client<typeof RouteService>
  readonly payments: Client<typeof PaymentService>
  readonly refunds: Client<typeof RefundService>
  readonly chargebacks: Client<typeof ChargebackService>
  readonly tickets: Client<typeof TicketService>
}

/** A call of TriggerEvent whose form was checked. */
export interface Trigger extends Sender {
  readonly steps: readonly Step[]
  readonly c_id: string
  /** A text that marks the resources of this call only: it is derived from its operation id, its event and its status. */
  readonly mark: string
  readonly minor: bigint | undefined
  /** Empty for the currency of the route. */
  readonly currency: string
  /** 0 for any route of the credential. */
  readonly service_id: string
  /** When it must stop waiting, on the monotonic clock. */
  readonly until_ms: number
}

/** The resources that a trigger has created so far. */
export interface CreatedResources {
  payment?: Payment
  refund?: Refund
  chargeback?: Chargeback
  ticket?: Ticket
}

const POLL_MS = 200
const AMOUNT = 100_908n
const CHARGEBACK_DAYS = 7n

/**
 * Makes an event happen, step by step (O20). Every step looks first at what an earlier call has made under the same keys, so that a
 * repetition, also after a crash, makes nothing twice. `pending` is true when the time ran out before the event.
 */
export async function triggerEvent(
  owners: TriggerOwners,
  trigger: Trigger,
): Promise<{ readonly made: CreatedResources; readonly pending: boolean }> {
  const credential = await findApplication(owners, trigger)
  const made: CreatedResources = {}
  const context = { owners, trigger, credential, made }
  for (const step of trigger.steps) if (!(await take(context, step))) return { made, pending: true }
  return { made, pending: false }
}

interface Context {
  readonly owners: TriggerOwners
  readonly trigger: Trigger
  readonly credential: Credential
  readonly made: CreatedResources
}

/** The application, which must be of the merchant and of the test environment. */
async function findApplication(
  { credentials }: TriggerOwners,
  { application_id, merchant_id }: Sender,
): Promise<Credential> {
  const { credential } = await fromOwner(
    'merchants',
    credentials.getCredential({ applicationId: application_id }),
  )
  if (credential?.merchantId !== merchant_id) throw fieldError(1003, 'application_id', 'nothing has this id')
  if (credential.environment !== Environment.TEST)
    throw fieldError(9000, 'application_id', 'an application of the test environment')
  return credential
}

/** Takes a step, and returns whether it is done. */
async function take(context: Context, step: Step): Promise<boolean> {
  switch (step.do) {
    case 'pay':
      return pay(context, step.outcome)
    case 'request_refund':
      return requestRefund(context, step.part)
    case 'decide_refund':
      return decideRefund(context, step)
    case 'open_chargeback':
      return openChargeback(context)
    case 'create_ticket':
      return createTicket(context)
    case 'edit_ticket':
      return editTicket(context)
    case 'move_ticket':
      return moveTicket(context, step.to)
    case 'answer_ticket':
      return answerTicket(context)
    case 'reopen_ticket':
      return reopenTicket(context)
  }
}

/** Sends a public request of the application. Throws its refusal, but for the codes that the caller handles. */
async function send(
  { owners: { gateway }, trigger }: Context,
  request: PublicRequest,
  handled: readonly number[] = [],
): Promise<string | undefined> {
  const answer = await sendPublic(gateway, trigger, request)
  if (answer.ok) return answer.h_id
  if (handled.includes(answer.code)) return undefined
  throw publicRefusal(request, answer)
}

/** Reads until `isDone`, or until the time is over. */
async function until({ trigger: { until_ms } }: Context, isDone: () => Promise<boolean>): Promise<boolean> {
  for (;;) {
    if (await isDone()) return true
    if (clock.monotonic_ms() + POLL_MS > until_ms) return false
    await sleep(POLL_MS)
  }
}

/** The status in which a deposit must end, by outcome. */
const ENDS: Readonly<Record<Exclude<Outcome, 'any'>, PaymentStatus>> = {
  paid: PaymentStatus.SUCCESS,
  paid_refund_fails: PaymentStatus.SUCCESS,
  fails: PaymentStatus.ERROR,
  expires: PaymentStatus.DECLINED,
  canceled: PaymentStatus.CANCELED,
}

const OPEN: readonly PaymentStatus[] = [PaymentStatus.CREATED, PaymentStatus.PROCESSING]
const REFUNDED: readonly PaymentStatus[] = [PaymentStatus.REFUNDED, PaymentStatus.PARTIALLY_REFUNDED]

async function pay(context: Context, outcome: Outcome): Promise<boolean> {
  const { made } = context
  made.payment = (await findPayment(context)) ?? (await createPayment(context, outcome))
  if (outcome === 'any') return true
  return until(context, async () => {
    const payment = await findPayment(context)
    if (payment === undefined) return false
    made.payment = payment
    const { status } = payment
    if (OPEN.includes(status)) return false
    // A refund that an earlier call has made may have changed it since.
    if (status === ENDS[outcome] || (outcome === 'paid' && REFUNDED.includes(status))) return true
    const name = PAYMENT_STATUSES.required(status, 'status')
    const code = payment.errorCode === undefined ? '' : ` with ${payment.errorCode}`
    throw impossible(`the payment ${payment.paymentId} on the route ${payment.serviceId} is ${name}${code}`)
  })
}

/** The deposit of this trigger, if there is one. Throws 1013 for a payment with its `c_id` that something else has made. */
async function findPayment({ owners, trigger }: Context): Promise<Payment | undefined> {
  const { merchant_id, c_id, mark } = trigger
  // The mark is in the description, which is masked otherwise. Nobody is shown what this reads.
  const request = { merchantId: merchant_id, environment: Environment.TEST, cId: c_id, reveal: true }
  const { payment } = await fromOwner(
    'payments',
    owners.payments.getPayment(request).catch((error: unknown) => {
      if (isRefusal(error, 6010)) return { payment: undefined }
      throw error
    }),
  )
  if (payment !== undefined && payment.eraseTime === undefined && payment.details?.description !== mark)
    throw new PublicError(1013, { details: { reason: `another call has made the payment ${c_id}` } })
  return payment
}

async function createPayment(context: Context, outcome: Outcome): Promise<Payment> {
  const { owners, trigger, credential } = context
  const { merchant_id, service_id, c_id, mark } = trigger
  const { routes } = await fromOwner('merchants', owners.routes.listRoutes({ merchantId: merchant_id }))
  const needs = { currency: trigger.currency, service_id, expires: outcome === 'expires' }
  const route = chooseRoute(routes, credential, needs)
  const minor = amountFor(outcome, trigger.minor ?? AMOUNT)
  const payment = {
    identifiers: { c_id },
    amount: { value: Number(minor), currency: route.currency },
    description: mark,
    payer: {},
  }
  // 6009: another process was faster.
  await send(context, { method: 'payment.in', service_id: route.serviceId, params: { payment } }, [6009])
  const created = await findPayment(context)
  if (created === undefined) throw new PublicError(2002, { details: { description: 'payments' } })
  return created
}

function impossible(what: string): PublicError {
  return new PublicError(1003, { details: { reason: `${what}, so the event does not come` } })
}

/** What an earlier step has made. */
function required<T>(thing: T | undefined): T {
  if (thing === undefined) throw new TypeError('a step has no thing to work on')
  return thing
}

async function requestRefund(context: Context, part: 'all' | 'half'): Promise<boolean> {
  const { made, trigger } = context
  const { c_id, mark } = trigger
  const minor = required(made.payment).amount?.minor ?? 0n
  if (part === 'half' && minor < 2n) throw fieldError(9000, 'amount', 'at least 2 for a refund in part')
  const params = {
    identifiers: { c_id },
    payment: { c_id },
    amount: String(part === 'half' ? minor / 2n : minor),
    reason: mark,
  }
  const h_id = await send(context, { method: 'refund.request', params })
  made.refund = await getRefund(context, h_id ?? '')
  return true
}

async function getRefund({ owners }: Context, refundId: string): Promise<Refund> {
  return required((await fromOwner('support', owners.refunds.getRefund({ refundId }))).refund)
}

type RefundDecision = Extract<Step, { readonly do: 'decide_refund' }>

/** Decides about a refund that is pending, and waits until it has the status. */
async function decideRefund(context: Context, { decision, until: wanted }: RefundDecision): Promise<boolean> {
  const { made, owners } = context
  const { refundId } = required(made.refund)
  const decide: () => Promise<unknown> = {
    approve: () => owners.refunds.approveRefund({ refundId }),
    reject: () => owners.refunds.rejectRefund({ refundId }),
    cancel: () => owners.refunds.cancelRefund({ refundId }),
  }[decision]
  let refusal: unknown
  const isDone = await until(context, async () => {
    const refund = await getRefund(context, refundId)
    made.refund = refund
    const status = REFUND_STATUSES.required(refund.status, 'status')
    if (wanted.includes(status)) return true
    if (refund.status === RefundStatus.APPROVED) return false
    if (refund.status !== RefundStatus.PENDING) throw impossible(`the refund ${refundId} is ${status}`)
    try {
      await fromOwner('support', decide())
      refusal = undefined
    } catch (error) {
      // 6004: the deposit is not credited yet. 8801: another call has decided meanwhile.
      if (!isRefusal(error, 6004, 8801)) throw error
      refusal = error
    }
    return false
  })
  if (refusal !== undefined) throw refusal
  return isDone
}

/** Takes the whole deposit, with a deadline for evidence a week after it. */
async function openChargeback({ made, owners, trigger }: Context): Promise<boolean> {
  const { paymentId, amount, createTime } = required(made.payment)
  const deadline = createTime && {
    seconds: createTime.seconds + CHARGEBACK_DAYS * 86_400n,
    nanos: createTime.nanos,
  }
  const { chargeback } = await fromOwner(
    'support',
    owners.chargebacks.openChargeback({
      paymentId,
      ...(amount && { amount }),
      reasonCode: 'test',
      ...(deadline && { deadlineAt: deadline }),
      operationId: trigger.mark,
    }),
  )
  made.chargeback = required(chargeback)
  return true
}

async function createTicket(context: Context): Promise<boolean> {
  const { c_id, mark } = context.trigger
  const params = { identifiers: { c_id }, title: 'A test', description: mark, category: 'question' }
  const h_id = await send(context, { method: 'ticket.create', params })
  await readTicket(context, h_id ?? '')
  return true
}

async function readTicket({ made, owners }: Context, ticketId: string): Promise<Ticket> {
  const { ticket } = await fromOwner('support', owners.tickets.getTicket({ ticketId }))
  made.ticket = required(ticket)
  return made.ticket
}

async function editTicket(context: Context): Promise<boolean> {
  const { c_id, mark } = context.trigger
  const params = { identifiers: { c_id }, description: `${mark}, edited` }
  await send(context, { method: 'ticket.description.update', operation_id: mark, params })
  return true
}

/** Moves a ticket that is still as it was created. */
async function moveTicket(context: Context, to: TicketStatusName): Promise<boolean> {
  const { ticketId, status } = required(context.made.ticket)
  if (status !== TicketStatus.OPEN) return true
  await fromOwner(
    'support',
    context.owners.tickets.moveTicket({ ticketId, status: TICKET_STATUSES.toProto(to) }),
  )
  await readTicket(context, ticketId)
  return true
}

async function answerTicket({ made, owners, trigger }: Context): Promise<boolean> {
  const { ticketId } = required(made.ticket)
  const comment = { ticketId, body: 'An answer of the operator.', operationId: trigger.mark }
  await fromOwner('support', owners.tickets.answerTicket(comment))
  return true
}

/** Resolves a ticket unless it was, and opens it again. What was reopened before stays as it is. */
async function reopenTicket(context: Context): Promise<boolean> {
  const { trigger, made } = context
  const request: PublicRequest = {
    method: 'ticket.reopen',
    operation_id: trigger.mark,
    params: { identifiers: { c_id: trigger.c_id } },
  }
  if ((await send(context, request, [10003])) === undefined) {
    await moveTicket(context, 'resolved')
    await send(context, request)
  }
  await readTicket(context, required(made.ticket).ticketId)
  return true
}
