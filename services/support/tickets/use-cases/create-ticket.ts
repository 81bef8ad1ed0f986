import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { Policy } from '#lib/contract/policy.ts'
import { deleteEnded, isBeingDeleted } from '#lib/patterns/test-retention.ts'
import type { Stored } from '#lib/store/store.ts'
import type { PaymentReference } from '../../domain/support-resource.ts'
import { withClaimed } from '../../use-cases/claim-attachments.ts'
import { runMutation } from '../../use-cases/mutation.ts'
import { type NewTicketFields, newTicket, replaceDeleted } from '../domain/new-ticket.ts'
import type { Ticket } from '../domain/ticket.ts'
import { keyOfTicket, TICKETS } from '../store/tickets.ts'
import { findTicket } from './find-ticket.ts'
import type { TicketDeps } from './update-ticket.ts'

/** A request for a ticket. The gateway has validated its form. */
export interface CreateTicketRequest extends NewTicketFields {
  /** The hash of the request without its `c_id`. */
  readonly payload_hash: string
  /** The restrictions of the credential, which apply to the route of the payment. */
  readonly policy: Policy
  readonly payment_c_id?: string | undefined
  readonly attachment_ids: readonly string[]
}

/**
 * Creates a ticket, once per `c_id`: a repetition gets the same ticket, as it is by then, as long as it is kept (S3, O25). Refusals in
 * their order: 1013 for a `c_id` that was used with another payload, 10005 for a payment issue without a file, 10001 for
 * a payment that the merchant does not have (3008 for one that the credential may not use), 10002 for a payment that has a
 * ticket, 13001 to 13004 and 9000 for a file that cannot be used.
 */
export async function createTicket(deps: TicketDeps, request: CreateTicketRequest): Promise<Stored<Ticket>> {
  const { merchant_id, environment, c_id } = request
  const mutation = { ...request, key: c_id }
  const ticket_id = await runMutation(deps.idempotency, 'ticket.create', mutation, async (id) => {
    await insertTicket(deps, request, id('ticket'))
    return id('ticket')
  })
  return findTicket(deps.tickets, { merchant_id, environment, by: 'h_id', id: ticket_id })
}

/**
 * Claims the files and inserts the ticket. A repetition after a crash finds what the first execution has inserted. A payment
 * that has a ticket is found before the files are claimed, except when both tickets are created at the same time.
 */
async function insertTicket(
  deps: TicketDeps,
  request: CreateTicketRequest,
  ticket_id: string,
): Promise<void> {
  const { merchant_id, environment, category, attachment_ids } = request
  if (category === 'payment_issue' && attachment_ids.length === 0) throw new PublicError(10005)
  const payment = await findPayment(deps, request)
  const key = { merchant_id, environment, subject_id: payment?.payment_id ?? ticket_id }
  const existing = payment && (await deps.tickets.get(key))
  // A request of the same `c_id` that makes another ticket: the `c_id` was freed.
  if (existing?.c_id === request.c_id && existing.ticket_id !== ticket_id && isBeingDeleted(existing))
    await deleteEnded(TICKETS, deps.tickets, existing)
  else if (existing) checkPlace(existing, ticket_id)
  const claim = { ...request, purpose: 'ticket', used_by: `ticket:${ticket_id}` } as const
  const placed = await withClaimed(deps.attachments, claim, ({ files: attachments, assertHeld }) => {
    assertHeld()
    return place(deps, newTicket(request, { ticket_id, payment, attachments }, now()))
  })
  await deps.runner.runEffects(placed)
}

/** Stores the ticket, or returns it when it is stored already. Throws 10002 when its payment has another one. */
async function place({ runner }: TicketDeps, ticket: Ticket): Promise<Stored<Ticket>> {
  const { stored } = await runner.insertOrGet(ticket)
  const is_free = stored.deleted_at !== undefined && stored.ticket_id !== ticket.ticket_id
  const placed = is_free ? await replace(runner, stored, ticket) : stored
  if (!placed) throw new TypeError('the place of a deleted ticket is gone')
  checkPlace(placed, ticket.ticket_id)
  return placed
}

/** Throws 10002 when the place of a ticket belongs to another one that is not deleted. */
function checkPlace(stored: Ticket, ticket_id: string): void {
  if (stored.ticket_id !== ticket_id && !stored.deleted_at) throw ticketExists(stored)
}

/** Puts the ticket in the place of a deleted one of the same payment, unless another one was faster. */
function replace(
  runner: TicketDeps['runner'],
  deleted: Stored<Ticket>,
  ticket: Ticket,
): Promise<Stored<Ticket> | undefined> {
  return runner.update(
    keyOfTicket(ticket),
    (current) => (current.deleted_at ? replaceDeleted(current, ticket) : undefined),
    deleted,
  )
}

/** The merchant's payment that the ticket is about. Throws 10001 when the merchant has none with this `c_id`. */
async function findPayment(
  { payments }: TicketDeps,
  request: CreateTicketRequest,
): Promise<PaymentReference | undefined> {
  const { policy, payment_c_id } = request
  if (payment_c_id === undefined) return undefined
  const found = await payments
    .findPayment({
      ...scopeToProto(request),
      policy: { serviceIds: [...policy.service_ids], currencies: [...policy.currencies] },
      cId: payment_c_id,
    })
    .catch((error: unknown) => {
      throw error instanceof PublicError && error.code === 6010 ? new PublicError(10001) : error
    })
  const { paymentId: payment_id = '', cId: c_id = '', hId: h_id = '' } = found.payment ?? {}
  if (payment_id === '') throw new TypeError('payments answered without a payment')
  return { payment_id, c_id, h_id }
}

/** The refusal of a second ticket for a payment, with the identifiers and the status of the first (spec: Errors). */
function ticketExists({ c_id, ticket_id, status }: Ticket): PublicError {
  return new PublicError(10002, { details: { identifiers: { c_id, h_id: ticket_id }, status } })
}
