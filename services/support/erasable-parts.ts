import type { Chargeback } from './chargebacks/domain/chargeback.ts'
import { eraseChargeback } from './chargebacks/domain/chargeback.ts'
import { CHARGEBACKS, keyOfChargeback } from './chargebacks/store/chargebacks.ts'
import { eraseRefund, type Refund } from './refunds/domain/refund.ts'
import { keyOfRefund, REFUNDS } from './refunds/store/refunds.ts'
import type { SupportStore } from './store/support-store.ts'
import { eraseTicket } from './tickets/domain/erase-ticket.ts'
import type { Ticket } from './tickets/domain/ticket.ts'
import { keyOfTicket, TICKETS } from './tickets/store/tickets.ts'
import type { ErasablePart } from './use-cases/erase-resources.ts'

/** The kinds of resources whose texts and files can be erased (O11). */
export function erasableParts({ tickets, refunds, chargebacks }: SupportStore) {
  const ticket: ErasablePart<Ticket> = {
    kind: 'ticket',
    spec: TICKETS,
    collection: tickets,
    keyOf: keyOfTicket,
    idOf: ({ ticket_id }) => ticket_id,
    erase: eraseTicket,
  }
  const refund: ErasablePart<Refund> = {
    kind: 'refund',
    spec: REFUNDS,
    collection: refunds,
    keyOf: keyOfRefund,
    idOf: ({ refund_id }) => refund_id,
    erase: eraseRefund,
  }
  const chargeback: ErasablePart<Chargeback> = {
    kind: 'chargeback',
    spec: CHARGEBACKS,
    collection: chargebacks,
    keyOf: keyOfChargeback,
    idOf: ({ chargeback_id }) => chargeback_id,
    erase: eraseChargeback,
  }
  return { ticket, refund, chargeback }
}
