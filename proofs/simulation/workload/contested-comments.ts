import { TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import { recordKey } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'
import { type SupportDeps, type SupportMutation, sendMutation } from './mutations.ts'

/** The calls and the reopening begin within this time, so that the ticket is reopened between some of the calls. */
const WITHIN_MS = 15
/** The first of the numbers of operations that reopen a ticket; there are many. */
const FIRST_REOPENING = 2_000_000_000

/**
 * Several calls under one key comment on a closed ticket while it is reopened, so that the first of them are refused. None
 * of these may undo what another one does: free the key, or give the file back (S3, F7).
 */
export async function sendContested(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  ticket: { readonly c_id: string },
  comment: SupportMutation,
): Promise<void> {
  const { choices } = deps
  const key = FIRST_REOPENING + choices.integer(0, FIRST_REOPENING)
  const reopening = { method: 'ticket.reopen', params: { identifiers: ticket }, key }
  const calls = Array.from({ length: choices.integer(3, 6) }, () => comment)
  await close(deps, merchant, ticket.c_id)
  await Promise.all(
    [reopening, ...calls].map(async (mutation) => {
      await sleep(choices.between(0, WITHIN_MS))
      await sendMutation(deps, merchant, mutation)
    }),
  )
}

/** The operator closes a ticket whose id is known. */
async function close(
  { history, operator }: SupportDeps,
  { merchant_id }: SimulatedMerchant,
  c_id: string,
): Promise<void> {
  const ticketId = history.support.get(recordKey(merchant_id, `ticket.create ${c_id}`))
  if (ticketId === undefined) return
  await operator(TicketService)
    .moveTicket({ ticketId, status: TicketStatus.CLOSED })
    .catch(() => {})
}
