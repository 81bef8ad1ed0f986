import { CommentAuthor as AuthorProto } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import {
  TicketCategory as CategoryProto,
  TicketPriority as PriorityProto,
  TicketStatus as StatusProto,
} from '#gen/multihub/support/v1/ticket_pb.ts'
import { createEnumMap, type EnumName } from './proto-fields.ts'

/** The statuses in RPCs. */
export const TICKET_STATUSES = createEnumMap({
  open: StatusProto.OPEN,
  in_progress: StatusProto.IN_PROGRESS,
  waiting_customer: StatusProto.WAITING_CUSTOMER,
  on_hold: StatusProto.ON_HOLD,
  resolved: StatusProto.RESOLVED,
  closed: StatusProto.CLOSED,
  canceled: StatusProto.CANCELED,
})

/** The status of a ticket (spec: Ticket statuses). */
export type TicketStatus = EnumName<typeof TICKET_STATUSES>

/** The categories in RPCs. */
export const TICKET_CATEGORIES = createEnumMap({
  payment_issue: CategoryProto.PAYMENT_ISSUE,
  integration: CategoryProto.INTEGRATION,
  limits: CategoryProto.LIMITS,
  account: CategoryProto.ACCOUNT,
  bug: CategoryProto.BUG,
  question: CategoryProto.QUESTION,
  dispute: CategoryProto.DISPUTE,
  refund_request: CategoryProto.REFUND_REQUEST,
  other: CategoryProto.OTHER,
})

/** What a ticket is about (spec: Ticket object). */
export type TicketCategory = EnumName<typeof TICKET_CATEGORIES>

/** The priorities in RPCs. */
export const TICKET_PRIORITIES = createEnumMap({
  low: PriorityProto.LOW,
  medium: PriorityProto.MEDIUM,
  high: PriorityProto.HIGH,
  urgent: PriorityProto.URGENT,
})

/** How soon a ticket must be handled (S5). Only the operator sets `urgent`. */
export type TicketPriority = EnumName<typeof TICKET_PRIORITIES>

/** The authors of comments in RPCs. */
export const COMMENT_AUTHORS = createEnumMap<'merchant' | 'support', AuthorProto>({
  merchant: AuthorProto.MERCHANT,
  support: AuthorProto.SUPPORT,
})

/** The categories of tickets that are always about a payment (S2). */
export const PAYMENT_CATEGORIES = ['payment_issue', 'dispute', 'refund_request'] as const
