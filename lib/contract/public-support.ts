import { RefundStatus as RefundStatusProto } from '#gen/multihub/payments/v1/refund_pb.ts'
import {
  type Chargeback,
  ChargebackStatus as ChargebackStatusProto,
} from '#gen/multihub/support/v1/chargeback_pb.ts'
import type { Refund } from '#gen/multihub/support/v1/refund_pb.ts'
import type { TicketCommentSnapshot, TicketSnapshot } from '#gen/multihub/support/v1/ticket_event_pb.ts'
import { createEnumMap, type EnumName } from './proto-fields.ts'
import { safeNumber } from './public-payment.ts'
import { COMMENT_AUTHORS, TICKET_CATEGORIES, TICKET_PRIORITIES, TICKET_STATUSES } from './ticket.ts'
import {
  defineView,
  field,
  hiddenFromCallbacks,
  instantField,
  listField,
  objectField,
  optionalField,
  textField,
  within,
  wordField,
} from './view.ts'

/** The statuses in RPCs. */
export const REFUND_STATUSES = createEnumMap({
  pending: RefundStatusProto.PENDING,
  approved: RefundStatusProto.APPROVED,
  rejected: RefundStatusProto.REJECTED,
  canceled: RefundStatusProto.CANCELED,
  completed: RefundStatusProto.COMPLETED,
  failed: RefundStatusProto.FAILED,
})

/** The status of a refund, under its public name (S7). */
export type RefundStatus = EnumName<typeof REFUND_STATUSES>

/** The statuses in RPCs. */
export const CHARGEBACK_STATUSES = createEnumMap({
  open: ChargebackStatusProto.OPEN,
  under_review: ChargebackStatusProto.UNDER_REVIEW,
  won: ChargebackStatusProto.WON,
  lost: ChargebackStatusProto.LOST,
  accepted: ChargebackStatusProto.ACCEPTED,
})

/** The status of a chargeback, under its public name (S10). */
export type ChargebackStatus = EnumName<typeof CHARGEBACK_STATUSES>

const PAYMENT = objectField<Pick<Refund, 'paymentCId' | 'paymentHId'>>({
  c_id: textField(({ paymentCId }) => paymentCId, { description: 'Your own reference of the payment.' }),
  h_id: textField(({ paymentHId }) => paymentHId, { description: 'The `h_id` of the payment.' }),
})

/** The keywords of the schema of our own identifier. */
export const OUR_ID = { format: 'uuid', description: 'Our identifier.' }
const CURRENCY = { pattern: '^[A-Z]{3}$' }

const CHARGEBACK_HISTORY_ENTRY = defineView<Chargeback['history'][number]>('ChargebackHistoryEntry', {
  status: wordField(CHARGEBACK_STATUSES, 'status'),
  created: instantField(({ createTime }) => createTime, 'When the status was entered.'),
  note: optionalField(textField(({ note }) => note || undefined)),
})

/** A chargeback as merchants see it (S10). A callback has no history, whose notes are texts of the operator (S12). */
export const CHARGEBACK_VIEW = defineView<Chargeback>(
  'Chargeback',
  {
    identifiers: objectField({ h_id: textField(({ chargebackId }) => chargebackId, OUR_ID) }),
    payment: PAYMENT,
    amount: field(
      { type: 'integer', description: 'In minor units; it was taken from your balance.' },
      ({ amount }) => amount && safeNumber(amount.minor),
    ),
    currency: textField(({ amount }) => amount?.currency, CURRENCY),
    reason_code: textField(({ reasonCode }) => reasonCode, {
      description: 'The code of the card network or the bank.',
    }),
    status: wordField(CHARGEBACK_STATUSES, 'status', {
      description: 'A chargeback that you have `won` was credited back.',
    }),
    deadline_at: optionalField(
      instantField(
        ({ deadlineTime }) => deadlineTime,
        'When evidence must have arrived. Yours goes into a ticket of the category `dispute`.',
      ),
    ),
    history: hiddenFromCallbacks(listField(CHARGEBACK_HISTORY_ENTRY, ({ history }) => history)),
    created_at: instantField(({ createTime }) => createTime, 'When the chargeback was opened.'),
    updated_at: instantField(
      ({ updateTime }) => updateTime,
      'When its status last changed, or evidence was added.',
    ),
  },
  { parts: [CHARGEBACK_HISTORY_ENTRY] },
)

/**
 * A refund as merchants see it (S7). Its amount is a text of digits, unlike all other amounts (spec: What the service does).
 * A callback leaves the merchant's `reason` out, as it leaves out the texts of all support resources (S12). Nothing of the
 * operator is in it.
 */
export const REFUND_VIEW = defineView<Refund>('Refund', {
  identifiers: objectField({
    c_id: textField(({ cId }) => cId, { description: 'Your own reference.' }),
    h_id: textField(({ refundId }) => refundId, OUR_ID),
  }),
  payment: PAYMENT,
  amount: textField(({ amount }) => amount?.minor.toString(), {
    pattern: '^[1-9][0-9]*$',
    description: 'In minor units. It is a text, unlike the amounts of payments.',
  }),
  currency: textField(({ amount }) => amount?.currency, CURRENCY),
  status: wordField(REFUND_STATUSES, 'status', {
    description: '`pending` and `approved` are active; all others are final.',
  }),
  reason: optionalField(
    hiddenFromCallbacks(textField(({ reason }) => reason || undefined, { description: 'Your own reason.' })),
  ),
  created_at: instantField(({ createTime }) => createTime, 'When you requested the refund.'),
  updated_at: instantField(({ updateTime }) => updateTime, 'When its status last changed.'),
})

const COMMENT_SNAPSHOT = objectField<TicketCommentSnapshot>({
  identifiers: objectField({ h_id: textField(({ commentId }) => commentId, OUR_ID) }),
  author: wordField(COMMENT_AUTHORS, 'author'),
  created_at: instantField(({ createTime }) => createTime),
})

/** What a callback says about a ticket (S12): no text of the ticket or of a comment, and nothing about staff. */
export const TICKET_SNAPSHOT_VIEW = defineView<TicketSnapshot>('TicketSnapshot', {
  identifiers: objectField({
    c_id: textField(({ cId }) => cId, { description: 'Your own reference.' }),
    h_id: textField(({ ticketId }) => ticketId, OUR_ID),
  }),
  category: wordField(TICKET_CATEGORIES, 'category'),
  status: wordField(TICKET_STATUSES, 'status'),
  priority: wordField(TICKET_PRIORITIES, 'priority'),
  payment: optionalField(
    within(
      ({ paymentHId }) => paymentHId,
      objectField<string>({ h_id: textField((h_id) => h_id, { description: 'The `h_id` of the payment.' }) }),
    ),
  ),
  comment: optionalField(within(({ comment }) => comment, COMMENT_SNAPSHOT)),
  created_at: instantField(({ createTime }) => createTime),
  updated_at: instantField(({ updateTime }) => updateTime),
})
