import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { sendContested } from './contested-comments.ts'
import { type FileRecord, recordKey } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'
import { type SupportDeps, sendMutation } from './mutations.ts'

/** How many tickets and comments want each file; one of them at most may have it. */
const RIVALS = 3
/** The share of tickets that want a file of another merchant. */
const FOREIGN = 0.1
/** The numbers of the operations that comment with files; the numbers of the support desk are far below. */
const FIRST_OPERATION = 1_000_000
/** How often a ticket is reopened while several calls under one key comment on it. */
const CONTESTED = 0.5

/** Uses a file as its purpose says. */
export function useFile(deps: SupportDeps, merchant: SimulatedMerchant, file: FileRecord): Promise<void> {
  if (deps.choices.chance(FOREIGN)) return useForeign(deps, merchant)
  if (file.h_id === undefined) return Promise.resolve()
  const rival = deps.choices.integer(1, RIVALS)
  if (file.purpose === 'ticket') return createTicket(deps, merchant, file, rival)
  return file.purpose === 'ticket_comment'
    ? comment(deps, merchant, file, rival)
    : addEvidence(deps, merchant, file)
}

/** The request for a ticket with files, the same each time. */
function ticketRequest(c_id: string, attachment_ids: readonly string[]): object {
  const content = { title: c_id, description: 'simulated', category: 'question' }
  return { identifiers: { c_id }, ...content, attachment_ids }
}

async function createTicket(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  { number, h_id = '' }: FileRecord,
  rival: number,
): Promise<void> {
  const c_id = `with-file-${number}-${rival}`
  const params = ticketRequest(c_id, [h_id])
  await sendMutation(deps, merchant, { method: 'ticket.create', params, key: c_id })
}

/** A comment on a ticket of the support desk, often by several calls under one key. */
async function comment(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  { number, h_id = '' }: FileRecord,
  rival: number,
): Promise<void> {
  const key = FIRST_OPERATION + number * RIVALS + rival
  const ticket = { c_id: 'ticket-0' }
  const params = { ticket, body: `${key}`, attachment_ids: [h_id] }
  const mutation = { method: 'ticket.comment.create', params, key }
  if (deps.choices.chance(CONTESTED)) await sendContested(deps, merchant, ticket, mutation)
  else await sendMutation(deps, merchant, mutation)
}

async function addEvidence(
  { history, choices, operator }: SupportDeps,
  { merchant_id }: SimulatedMerchant,
  { h_id: attachmentId = '' }: FileRecord,
): Promise<void> {
  const prefix = recordKey(merchant_id, 'chargeback ')
  const known = [...history.support].filter(([name]) => name.startsWith(prefix)).map(([, id]) => id)
  if (known.length === 0) return
  await operator(ChargebackService)
    .addEvidence({ chargebackId: choices.pick(known), attachmentId })
    .catch(() => {})
}

/** A ticket with a file of another merchant, which does not exist for this one. */
async function useForeign(deps: SupportDeps, merchant: SimulatedMerchant): Promise<void> {
  const { history, choices } = deps
  const foreign = [...history.files.values()].filter(
    ({ merchant_id, purpose, h_id }) =>
      merchant_id !== merchant.merchant_id && purpose === 'ticket' && h_id !== undefined,
  )
  if (foreign.length === 0) return
  const { h_id = '' } = choices.pick(foreign)
  const c_id = `with-foreign-file-${h_id}`
  const params = ticketRequest(c_id, [h_id])
  const outcome = await sendMutation(deps, merchant, { method: 'ticket.create', params, key: c_id })
  if (outcome.kind === 'success')
    history.problems.push(`${merchant.merchant_id} has a ticket with the file ${h_id} of another merchant`)
}
