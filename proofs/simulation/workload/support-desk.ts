import { TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import { sendContested } from './contested-comments.ts'
import { recordKey } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'
import { type SupportDeps, sendMutation } from './mutations.ts'

/** How often a key is used on average, so that mutations are repeated while others of the same ticket come between. */
const USES = 3
/** How many operations in a row are about one ticket. */
const OPERATIONS_PER_TICKET = 4

const STATUSES = [
  TicketStatus.IN_PROGRESS,
  TicketStatus.WAITING_CUSTOMER,
  TicketStatus.RESOLVED,
  TicketStatus.CLOSED,
] as const

/**
 * A merchant that opens, edits, comments and reopens tickets, and an operator that moves and answers them. Each mutation is
 * sent again and again under the same key; each success must name the same resource.
 */
export async function runSupportDesk(deps: SupportDeps, merchant: SimulatedMerchant): Promise<void> {
  const { choices, isOpen } = deps
  for (let sent = 0; isOpen(); sent += 1) {
    const operation = Math.max(0, Math.floor(sent / USES) - choices.integer(0, USES))
    const c_id = `ticket-${Math.floor(operation / OPERATIONS_PER_TICKET)}`
    const ticket = { c_id }
    await choices.weighted<() => Promise<void>>([
      [3, () => send(deps, merchant, 'ticket.create', newTicket(c_id), c_id)],
      [6, () => comment(deps, merchant, c_id, operation)],
      [1, () => send(deps, merchant, 'ticket.reopen', { identifiers: ticket }, operation)],
      [1, () => edit(deps, merchant, c_id, operation)],
      [4, () => operate(deps, merchant, c_id, operation)],
      [1, () => summarize(deps, merchant)],
    ])()
    await sleep(choices.between(0, choices.pick([50, 500, 4_000])))
  }
}

/** Counts the tickets. What it shows while they change is not judged, but the counts of the end must not be of earlier ones. */
async function summarize(
  { api }: SupportDeps,
  { credentials: [credential] }: SimulatedMerchant,
): Promise<void> {
  if (credential) await api.call(credential, { method: 'ticket.summary', params: {} })
}

function newTicket(c_id: string): object {
  return { identifiers: { c_id }, title: c_id, description: 'simulated', category: 'question' }
}

/** How often a ticket is reopened while several calls under one key comment on it. */
const CONTESTED = 0.3

function comment(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  c_id: string,
  operation: number,
): Promise<void> {
  const method = 'ticket.comment.create'
  const params = { ticket: { c_id }, body: `${operation}` }
  return deps.choices.chance(CONTESTED)
    ? sendContested(deps, merchant, { c_id }, { method, params, key: operation })
    : send(deps, merchant, method, params, operation)
}

function edit(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  c_id: string,
  operation: number,
): Promise<void> {
  const params = { identifiers: { c_id }, description: `edit ${operation}` }
  return send(deps, merchant, 'ticket.description.update', params, operation)
}

/** How often a mutation is sent twice at the same time. */
const TWICE = 0.2

/** Sends a mutation of the merchant, sometimes twice. A `c_id` as its key is part of the params already. */
async function send(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  method: string,
  params: object,
  key: string | number,
): Promise<void> {
  const times = deps.choices.chance(TWICE) ? 2 : 1
  const sending = Array.from({ length: times }, () => sendMutation(deps, merchant, { method, params, key }))
  await Promise.all(sending)
}

/** Moves or answers a ticket whose id is known. A refusal or a lost answer proves nothing. */
async function operate(
  { history, choices, operator }: SupportDeps,
  { merchant_id }: SimulatedMerchant,
  c_id: string,
  operation: number,
): Promise<void> {
  const ticketId = history.support.get(recordKey(merchant_id, `ticket.create ${c_id}`))
  if (ticketId === undefined) return
  const client = operator(TicketService)
  const answer = { ticketId, body: `answer ${operation}`, operationId: `${operation}` }
  const isMoving = choices.chance(0.6)
  const act = () =>
    isMoving ? client.moveTicket({ ticketId, status: choices.pick(STATUSES) }) : client.answerTicket(answer)
  const times = choices.chance(TWICE) ? 2 : 1
  await Promise.all(Array.from({ length: times }, () => act().catch(() => {})))
}
