import { object } from '../json/schema.ts'
import { ATTACHMENT_PARAMS } from './attachment-fields.ts'
import { ATTACHMENT_STATUS_RESULT, statusOf } from './attachment-result.ts'
import { defineMethod } from './method.ts'
import { createReadAttachment } from './read-attachment.ts'
import { SUPPORT_ENVELOPE } from './support-fields.ts'

/** `attachment.status`: shows the step at which a file is (F3). */
export const attachmentStatus = defineMethod({
  name: 'attachment.status',
  default_quota: 20,
  summary: 'Shows the status of a file',
  description:
    'Needs `tickets.read`, or `chargebacks.read` for evidence of a chargeback. The steps are `awaiting_upload`, `uploaded`, ' +
    '`scanning`, and then `ready` or `rejected`; `expired` means that the upload was not finalized, or the file not used, in time.',
  example: {
    method: 'attachment.status',
    params: { attachment: { h_id: '0199c0de-0000-7000-8000-000000000001' } },
  },
  request: object({ ...SUPPORT_ENVELOPE, params: ATTACHMENT_PARAMS }),
  result: ATTACHMENT_STATUS_RESULT,
  createHandler(deps) {
    const readAttachment = createReadAttachment(deps)
    return async ({ params }, caller) => {
      const { attachment } = await readAttachment(params.attachment.h_id, caller)
      const { attachmentId: h_id, reason } = attachment
      return { h_id, status: statusOf(attachment), ...(reason === '' ? {} : { reason }) }
    }
  },
})
