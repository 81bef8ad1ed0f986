import type { Chargeback } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { MerchantChargebackService } from '#gen/multihub/support/v1/merchant_chargeback_service_pb.ts'
import { CHARGEBACK_STATUSES, chargebackObject } from '#lib/contract/public-support.ts'
import { componentRef, type JsonSchema, pageOf, record } from '../json/json-schema.ts'
import { object, optional } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { merchantScope } from './request-fields.ts'
import {
  CREATED_FIELDS,
  defineGet,
  defineList,
  defineSummary,
  LIST_DESCRIPTION,
  OUR_IDENTIFIER,
  PAGE_FIELDS,
  paymentIdentifiers,
  paymentIdentifierToProto,
  supportRequest,
  type View,
  wordsOf,
} from './support-methods.ts'
import { TICKET_ATTACHMENT, toAttachmentResult } from './tickets.ts'

/** The public chargeback (S10). */
function toChargebackResult(chargeback: Chargeback | undefined): unknown {
  if (!chargeback) throw new TypeError('support answered without a chargeback')
  return chargebackObject(chargeback, 'response')
}

const instant = (description: string): JsonSchema => ({ type: 'string', format: 'date-time', description })

const STATUS: JsonSchema = { type: 'string', enum: CHARGEBACK_STATUSES.names }

const HISTORY_ENTRY = record(
  { status: STATUS, created: instant('When the status was entered.'), note: { type: 'string' } },
  ['note'],
)

const CHARGEBACK = record(
  {
    identifiers: record({ h_id: { type: 'string', format: 'uuid', description: 'Our identifier.' } }),
    payment: record({
      c_id: { type: 'string', description: 'Your own reference of the payment.' },
      h_id: { type: 'string', description: 'The `h_id` of the payment.' },
    }),
    amount: { type: 'integer', description: 'In minor units; it was taken from your balance.' },
    currency: { type: 'string', pattern: '^[A-Z]{3}$' },
    reason_code: { type: 'string', description: 'The code of the card network or the bank.' },
    status: { ...STATUS, description: 'A chargeback that you have `won` was credited back.' },
    deadline_at: instant('When evidence must have arrived.'),
    history: { type: 'array', items: componentRef('ChargebackHistoryEntry') },
    created_at: instant('When the chargeback was opened.'),
    updated_at: instant('When its status last changed, or evidence was added.'),
  },
  ['deadline_at'],
)

const CHARGEBACK_VIEW: View<Chargeback> = {
  schema: componentRef('Chargeback'),
  components: { Chargeback: CHARGEBACK, ChargebackHistoryEntry: HISTORY_ENTRY },
  render: toChargebackResult,
}

/** `chargeback.get`: shows a chargeback of the merchant. */
export const chargebackGet = defineGet({
  name: 'chargeback.get',
  scope: 'chargebacks.read',
  summary: 'Shows a chargeback',
  description: 'A chargeback that you do not have is 12001.',
  example: { h_id: '0199c0de-0000-7000-8000-000000000001' },
  service: MerchantChargebackService,
  view: CHARGEBACK_VIEW,
  identifiers: OUR_IDENTIFIER,
  find: async (support, scope, { h_id }) =>
    (await support.findChargeback({ ...scope, chargebackId: h_id })).chargeback,
})

/** `chargeback.list`: the merchant's chargebacks, newest first (S6, S10). */
export const chargebackList = defineList({
  name: 'chargeback.list',
  scope: 'chargebacks.read',
  summary: 'Lists your chargebacks, newest first',
  description: LIST_DESCRIPTION,
  example: { statuses: ['open', 'under_review'] },
  service: MerchantChargebackService,
  view: CHARGEBACK_VIEW,
  params: object({
    statuses: wordsOf(CHARGEBACK_STATUSES.names),
    payment: optional(paymentIdentifiers()),
    ...CREATED_FIELDS,
    ...PAGE_FIELDS,
  }),
  async findPage(support, page, { statuses = [], payment }) {
    const { chargebacks: items, nextCursor } = await support.listMerchantChargebacks({
      ...page,
      statuses: statuses.map(CHARGEBACK_STATUSES.toProto),
      ...(payment && { payment: paymentIdentifierToProto(payment) }),
    })
    return { items, nextCursor }
  },
})

/** `chargeback.summary`: the number of the merchant's chargebacks per status (S11). */
export const chargebackSummary = defineSummary({
  name: 'chargeback.summary',
  scope: 'chargebacks.read',
  summary: 'Counts your chargebacks by status',
  service: MerchantChargebackService,
  statuses: CHARGEBACK_STATUSES,
  count: (support, request) => support.summarizeChargebacks(request),
})

/** `chargeback.attachments.list`: the evidence of a chargeback, oldest first (S10). It has at most 20 files: one page. */
export const chargebackAttachmentsList = defineMethod({
  name: 'chargeback.attachments.list',
  scope: 'chargebacks.read',
  default_quota: 120,
  summary: 'Lists the evidence of a chargeback',
  description:
    'Shows the files that the operator has added, all in one page. Read one with `attachment.get`. A chargeback that you ' +
    'do not have is 12001.',
  example: {
    method: 'chargeback.attachments.list',
    params: { chargeback: { h_id: '0199c0de-0000-7000-8000-000000000001' } },
  },
  request: supportRequest(object({ chargeback: OUR_IDENTIFIER })),
  result: pageOf(componentRef('TicketAttachment')),
  result_components: { TicketAttachment: TICKET_ATTACHMENT },
  createHandler({ clientOf }) {
    const support = clientOf(MerchantChargebackService)
    return async ({ params }, caller) => {
      const chargebackId = params.chargeback.h_id
      const { chargeback } = await support.findChargeback({ ...merchantScope(caller), chargebackId })
      if (!chargeback) throw new TypeError('support answered without a chargeback')
      return { items: chargeback.evidence.map(toAttachmentResult), next_cursor: null }
    }
  },
})
