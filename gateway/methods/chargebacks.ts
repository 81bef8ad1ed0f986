import { MerchantChargebackService } from '#gen/multihub/support/v1/merchant_chargeback_service_pb.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { CHARGEBACK_STATUSES, CHARGEBACK_VIEW } from '#lib/contract/public-support.ts'
import { object, optional } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import {
  CREATED_FIELDS,
  defineGet,
  defineList,
  defineSummary,
  LIST_DESCRIPTION,
  OUR_IDENTIFIER,
  PAGE_FIELDS,
  pageOf,
  paymentIdentifiers,
  paymentIdentifierToProto,
  supportRequest,
  wordsOf,
} from './support-methods.ts'
import { FILE_VIEW } from './tickets.ts'

/** `chargeback.get`: shows a chargeback of the merchant. */
export const chargebackGet = defineGet({
  name: 'chargeback.get',
  refusals: [12001],
  scope: 'chargebacks.read',
  summary: 'Shows a chargeback',
  description: 'For a chargeback that you do not have the response is 12001.',
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
  refusals: [],
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
  refusals: [12001],
  scope: 'chargebacks.read',
  default_quota: 120,
  summary: 'Lists the evidence of a chargeback',
  description:
    'Shows the files that the operator has added, all in one page. Read one with `attachment.get`. For a chargeback ' +
    'that you do not have the response is 12001.',
  example: { params: { chargeback: { h_id: '0199c0de-0000-7000-8000-000000000001' } } },
  request: supportRequest(object({ chargeback: OUR_IDENTIFIER })),
  result: pageOf(FILE_VIEW.schema),
  result_components: FILE_VIEW.components,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantChargebackService)
    return async ({ params }, caller) => {
      const chargebackId = params.chargeback.h_id
      const { chargeback } = await support.findChargeback({ ...scopeToProto(caller), chargebackId })
      if (!chargeback) throw new TypeError('support answered without a chargeback')
      return { items: chargeback.evidence.map((file) => FILE_VIEW.render(file)), next_cursor: null }
    }
  },
})
