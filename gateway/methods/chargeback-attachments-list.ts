import { MerchantChargebackService } from '#gen/multihub/support/v1/merchant_chargeback_service_pb.ts'
import { uuid } from '../json/scalars.ts'
import { described, object } from '../json/schema.ts'
import { componentRef, pageOf } from '../openapi/json-schema.ts'
import { defineMethod } from './method.ts'
import { ownerOf } from './request-to-proto.ts'
import { SUPPORT_ENVELOPE } from './support-fields.ts'
import { TICKET_ATTACHMENT, toAttachmentResult } from './ticket-result.ts'

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
  request: object({
    ...SUPPORT_ENVELOPE,
    params: object({ chargeback: object({ h_id: described('Our identifier.', uuid()) }) }),
  }),
  result: pageOf(componentRef('TicketAttachment')),
  result_components: { TicketAttachment: TICKET_ATTACHMENT },
  createHandler({ clientOf }) {
    const support = clientOf(MerchantChargebackService)
    return async ({ params }, caller) => {
      const chargebackId = params.chargeback.h_id
      const { chargeback } = await support.findChargeback({ ...ownerOf(caller), chargebackId })
      if (!chargeback) throw new TypeError('support answered without a chargeback')
      return { items: chargeback.evidence.map(toAttachmentResult), next_cursor: null }
    }
  },
})
