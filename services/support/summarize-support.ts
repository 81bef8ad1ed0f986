import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import { addOpenItems, countOpen } from '#lib/patterns/open-items.ts'
import { CHARGEBACK_LIST } from './chargebacks/store/chargebacks.ts'
import { REFUND_LIST } from './refunds/store/refunds.ts'
import type { SupportStore } from './store/support-store.ts'
import { UNRESOLVED } from './tickets/domain/ticket.ts'
import { TICKET_LIST } from './tickets/store/tickets.ts'
import { selectionsByCreation, selectionsByDeadline } from './use-cases/list-for-operator.ts'

/** Counts what waits for the operator over all merchants, from the indexes of the lists of it (O8). */
export async function summarizeSupport({
  tickets,
  refunds,
  chargebacks,
}: Pick<SupportStore, 'tickets' | 'refunds' | 'chargebacks'>) {
  const pending = selectionsByCreation(REFUND_LIST, { only: { status: ['pending'] } })
  const unresolved = selectionsByCreation(TICKET_LIST, { only: { status: UNRESOLVED } })
  const due = selectionsByDeadline(CHARGEBACK_LIST, { only: {} })
  const createdAt = ({ created_at }: { readonly created_at: Date }) => created_at
  const stuckAt = ({ stuck_at }: EffectDocument) => stuck_at
  const stuck = [{ index: 'by_stuck', fixed: {} }]
  const [pendingRefunds, unresolvedTickets, chargebacksByDeadline, ...stuck_parts] = await Promise.all([
    countOpen(refunds, pending, createdAt),
    countOpen(tickets, unresolved, createdAt),
    countOpen(chargebacks, due, ({ deadline_at }) => deadline_at),
    countOpen(tickets, stuck, stuckAt),
    countOpen(refunds, stuck, stuckAt),
    countOpen(chargebacks, stuck, stuckAt),
  ])
  return { pendingRefunds, chargebacksByDeadline, unresolvedTickets, stuckEffects: addOpenItems(stuck_parts) }
}
