import { type Chargeback, ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import type {
  CommentOnPayment,
  GetPaymentSupportResponse,
} from '#gen/multihub/support/v1/payment_support_service_pb.ts'
import { CommentAuthor } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import type { Ticket } from '#gen/multihub/support/v1/ticket_pb.ts'
import { CHARGEBACK_STATUSES } from '#lib/contract/public-support.ts'
import { TICKET_CATEGORIES, TICKET_PRIORITIES, TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { dateOf, joined, moneyData, moneyText, ORDER, type TimelineRow, type Viewer } from './timeline-row.ts'

/** The rows of chargebacks, the ticket and the comments of a payment. Its refunds have theirs from the payment. Pure. */
export function supportRows(
  { chargebacks, ticket, comments }: GetPaymentSupportResponse,
  viewer: Viewer,
): TimelineRow[] {
  return [
    ...chargebacks.flatMap((chargeback) => chargebackRows(chargeback, viewer)),
    ...(ticket ? ticketRows(ticket, viewer) : []),
    ...comments
      .filter(({ internal }) => !(internal && viewer.is_merchant))
      .map((comment) => commentRow(comment, ticket)),
  ]
}

const CHARGEBACK_TITLES: Readonly<Partial<Record<ChargebackStatus, string>>> = {
  [ChargebackStatus.OPEN]: 'was opened',
  [ChargebackStatus.UNDER_REVIEW]: 'is under review by the bank',
  [ChargebackStatus.WON]: 'was won: the merchant gets its amount back',
  [ChargebackStatus.LOST]: 'was lost: the customer keeps the money',
  [ChargebackStatus.ACCEPTED]: 'was accepted by the merchant',
}

function chargebackRows(chargeback: Chargeback, { reveal }: Viewer): TimelineRow[] {
  const { chargebackId, amount, reasonCode, deadlineTime, history } = chargeback
  return history.map(({ status, createTime, note }, index): TimelineRow => {
    const title = CHARGEBACK_TITLES[status] ?? 'has a new status'
    const facts = joined([
      reasonCode !== '' && `reason ${reasonCode}`,
      deadlineTime !== undefined && `evidence until ${dateOf(deadlineTime).toISOString()}`,
    ])
    const detail = index === 0 && facts !== '' ? ` (${facts})` : ''
    return {
      key: `chargeback:${chargebackId}:${index}`,
      time: dateOf(createTime),
      kind: 'chargeback',
      order: index === 0 ? ORDER.request : ORDER.result,
      title: `Chargeback of ${moneyText(amount)} ${title}${detail}`,
      refs: [{ kind: 'chargeback', id: chargebackId }],
      data: {
        chargeback_id: chargebackId,
        ...moneyData(amount),
        status: CHARGEBACK_STATUSES.fromProto(status),
        reason_code: reasonCode === '' ? undefined : reasonCode,
        note: reveal && note !== '' ? note : undefined,
      },
    }
  })
}

function ticketRows(ticket: Ticket, { reveal }: Viewer): TimelineRow[] {
  const { ticketId, createTime, updateTime } = ticket
  const status = TICKET_STATUSES.fromProto(ticket.status)
  const category = TICKET_CATEGORIES.fromProto(ticket.category)
  const priority = TICKET_PRIORITIES.fromProto(ticket.priority)
  const common = { kind: 'ticket', refs: [{ kind: 'ticket', id: ticketId }] } as const
  const opened = dateOf(createTime)
  const changed = dateOf(updateTime)
  const first: TimelineRow = {
    ...common,
    key: `ticket:${ticketId}`,
    time: opened,
    order: ORDER.request,
    title: `Ticket was opened by the merchant: ${category}, priority ${priority}`,
    data: { ticket_id: ticketId, category, priority, title: reveal ? ticket.title : undefined },
  }
  if (changed <= opened) return [first]
  const last: TimelineRow = {
    ...common,
    key: `ticket:${ticketId}:changed`,
    time: changed,
    order: ORDER.result,
    title: `Ticket was last changed; it is ${status?.replaceAll('_', ' ')}`,
    data: { ticket_id: ticketId, status },
  }
  return [first, last]
}

function commentRow(
  { commentId, threadId, author, internal, createTime }: CommentOnPayment,
  ticket: Ticket | undefined,
): TimelineRow {
  const is_ticket = threadId === ticket?.ticketId
  const thread = is_ticket ? 'ticket' : 'refund'
  const who = author === CommentAuthor.MERCHANT ? 'Merchant' : 'Operator'
  const did = internal ? 'wrote an internal note on' : 'commented on'
  return {
    key: `comment:${commentId}`,
    time: dateOf(createTime),
    kind: thread,
    order: ORDER.result,
    title: `${who} ${did} the ${thread}`,
    refs: [{ kind: thread, id: threadId }],
    data: { comment_id: commentId, internal: internal || undefined },
  }
}
