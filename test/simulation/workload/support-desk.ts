import { TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import type { ClientOf } from '#lib/platform/rpc/rpc.ts'
import { sleep } from '#lib/platform/time.ts'
import type { Choices } from '../parts/random.ts'
import { type History, recordKey } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'
import type { PublicApi, PublicOutcome } from './public-api.ts'

/** What a merchant and the operator need in order to talk in tickets. */
export interface SupportDeskDeps {
  readonly api: PublicApi
  readonly history: History
  readonly choices: Choices
  readonly operator: ClientOf
  /** Whether requests may still be sent. */
  readonly isOpen: () => boolean
}

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
export async function runSupportDesk(deps: SupportDeskDeps, merchant: SimulatedMerchant): Promise<void> {
  const { choices, isOpen } = deps
  for (let sent = 0; isOpen(); sent += 1) {
    const operation = Math.max(0, Math.floor(sent / USES) - choices.integer(0, USES))
    const c_id = `ticket-${Math.floor(operation / OPERATIONS_PER_TICKET)}`
    const ticket = { c_id }
    await choices.weighted<() => Promise<void>>([
      [3, () => send(deps, merchant, 'ticket.create', newTicket(c_id), c_id)],
      [6, () => send(deps, merchant, 'ticket.comment.create', { ticket, body: `${operation}` }, operation)],
      [1, () => send(deps, merchant, 'ticket.reopen', { identifiers: ticket }, operation)],
      [1, () => edit(deps, merchant, c_id, operation)],
      [2, () => operate(deps, merchant, c_id, operation)],
    ])()
    await sleep(choices.between(0, choices.pick([50, 500, 4_000])))
  }
}

function newTicket(c_id: string): object {
  return { identifiers: { c_id }, title: c_id, description: 'simulated', category: 'question' }
}

function edit(
  deps: SupportDeskDeps,
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
  deps: SupportDeskDeps,
  merchant: SimulatedMerchant,
  method: string,
  params: object,
  key: string | number,
): Promise<void> {
  const times = deps.choices.chance(TWICE) ? 2 : 1
  const sending = Array.from({ length: times }, () => sendOnce(deps, merchant, method, params, key))
  await Promise.all(sending)
}

async function sendOnce(
  { api, history, choices }: SupportDeskDeps,
  { merchant_id, credentials }: SimulatedMerchant,
  method: string,
  params: object,
  key: string | number,
): Promise<void> {
  const body = { method, ...(typeof key === 'number' ? { operation_id: `${key}` } : {}), params }
  const outcome = await api.call(choices.pick(credentials), body)
  const h_id = resourceOf(outcome)
  if (h_id === undefined) return
  const name = recordKey(merchant_id, `${method} ${key}`)
  const earlier = history.support.get(name)
  if (earlier !== undefined && earlier !== h_id)
    history.problems.push(`${name}: it was ${earlier}, and is ${h_id} after a repetition`)
  history.support.set(name, h_id)
}

/** The public id of the ticket or comment that a success shows. */
function resourceOf(outcome: PublicOutcome): string | undefined {
  if (outcome.kind !== 'success') return undefined
  return (outcome.result['identifiers'] as { h_id?: string } | undefined)?.h_id
}

/** Moves or answers a ticket whose id is known. A refusal or a lost answer proves nothing. */
async function operate(
  { history, choices, operator }: SupportDeskDeps,
  { merchant_id }: SimulatedMerchant,
  c_id: string,
  operation: number,
): Promise<void> {
  const ticketId = history.support.get(recordKey(merchant_id, `ticket.create ${c_id}`))
  if (ticketId === undefined) return
  const client = operator(TicketService)
  const answer = { ticketId, body: `answer ${operation}`, operationId: `${operation}` }
  const act = choices.chance(0.7)
    ? client.moveTicket({ ticketId, status: choices.pick(STATUSES) })
    : client.answerTicket(answer)
  await act.then(
    () => {},
    () => {},
  )
}
