import { refusalUnlessReady } from '#lib/contract/attachment-refusal.ts'
import { object } from '../json/schema.ts'
import { record } from '../openapi/json-schema.ts'
import { ATTACHMENT_PARAMS } from './attachment-fields.ts'
import {
  ATTACHMENT,
  ATTACHMENT_COMPONENTS,
  linkSchema,
  statusOf,
  toAttachmentObject,
  toLinkObject,
} from './attachment-result.ts'
import { defineMethod } from './method.ts'
import { createReadAttachment } from './read-attachment.ts'
import { SUPPORT_ENVELOPE } from './support-fields.ts'

/** `attachment.get`: shows a ready file, with a link to its bytes (F3). */
export const attachmentGet = defineMethod({
  name: 'attachment.get',
  default_quota: 20,
  summary: 'Shows a file and where to download it',
  description:
    'Needs the same scope as `attachment.status`. Get `download.url` within 5 minutes; it needs no signature of yours. Until the ' +
    'file is ready the response is 13003, of a rejected one 13004, of an expired one 13002.',
  example: {
    method: 'attachment.get',
    params: { attachment: { h_id: '0199c0de-0000-7000-8000-000000000001' } },
  },
  request: object({ ...SUPPORT_ENVELOPE, params: ATTACHMENT_PARAMS }),
  result: record({ attachment: ATTACHMENT, download: linkSchema() }),
  result_components: ATTACHMENT_COMPONENTS,
  createHandler(deps) {
    const readAttachment = createReadAttachment(deps)
    return async ({ params }, caller) => {
      const { attachment, download } = await readAttachment(params.attachment.h_id, caller)
      const refusal = refusalUnlessReady(statusOf(attachment), attachment.reason)
      if (refusal !== undefined) throw refusal
      return {
        attachment: toAttachmentObject(attachment),
        download: toLinkObject(download, deps.publicUrl()),
      }
    }
  },
})
