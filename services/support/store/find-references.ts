import {
  amountInTitle,
  type FindReferences,
  referenceById,
  referencesInRanges,
} from '#lib/patterns/references.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Chargeback } from '../chargebacks/domain/chargeback.ts'
import { findChargebackById } from '../chargebacks/store/chargebacks.ts'
import type { Refund } from '../refunds/domain/refund.ts'
import { REFUNDS } from '../refunds/store/refunds.ts'
import type { Ticket } from '../tickets/domain/ticket.ts'
import { TICKETS } from '../tickets/store/tickets.ts'

/** Finds refunds by their `refund_id` and their `c_id`. */
export function refundReferences(collection: Pick<Collection<Refund>, 'find'>): FindReferences {
  return referencesInRanges<Refund>({
    collection,
    key: REFUNDS.key,
    rangesOf: ({ text }) => [
      { index: 'by_id', equals: [text], start: { refund_id: text, environment: ' ', c_id: ' ' } },
      { index: 'by_any_c_id', equals: [text], start: { environment: ' ', c_id: text } },
    ],
    toReference: ({
      refund_id: id,
      merchant_id,
      environment,
      amount,
      currency,
      status,
      created_at: time,
    }) => ({
      kind: 'refund',
      id,
      merchant_id,
      title: `${environment}: refund of ${amountInTitle({ minor: amount, currency })}, ${status}`,
      time,
    }),
  })
}

/** Finds tickets by their `ticket_id` and their `c_id`, unless they are deleted. What they are about is the merchant's words. */
export function ticketReferences(collection: Pick<Collection<Ticket>, 'find'>): FindReferences {
  return referencesInRanges<Ticket>({
    collection,
    key: TICKETS.key,
    rangesOf: ({ text }) => [
      { index: 'by_id', equals: [text], start: { ticket_id: text, environment: ' ', subject_id: ' ' } },
      { index: 'by_any_c_id', equals: [text], start: { c_id: text, environment: ' ', subject_id: ' ' } },
    ],
    toReference: (ticket) => {
      const { ticket_id: id, merchant_id, environment, category, status, created_at: time } = ticket
      if (ticket.deleted_at !== undefined) return undefined
      return {
        kind: 'ticket',
        id,
        merchant_id,
        title: `${environment}: ticket, ${category}, ${status}`,
        time,
      }
    },
  })
}

/** Finds chargebacks by their `chargeback_id`. */
export function chargebackReferences(chargebacks: Collection<Chargeback>): FindReferences {
  return referenceById(
    (id) => findChargebackById(chargebacks, id),
    ({ chargeback_id: id, merchant_id, environment, amount, currency, status, created_at: time }) => ({
      kind: 'chargeback',
      id,
      merchant_id,
      title: `${environment}: chargeback of ${amountInTitle({ minor: amount, currency })}, ${status}`,
      time,
    }),
  )
}
