import { ATTACHMENT_TYPES, DOWNLOAD_PATH, UPLOAD_PATH } from '#lib/contract/attachments.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { componentRef, type JsonSchema, record } from '#lib/contract/view.ts'
import { ATTACHMENT_VIEW } from '../methods/attachments.ts'
import { withRefusals } from '../methods/refusals.ts'
import { type FailureDescription, successSchema } from './envelope-schemas.ts'
import { failureResponse } from './operation.ts'

const UPLOAD_RESULT = 'AttachmentUploadResult'
const UPLOAD_RESPONSE = 'AttachmentUploadResponse'

const LINK = {
  name: 'link',
  in: 'path',
  required: true,
  description: 'A part of the URL that `attachment.prepare` or `attachment.get` has returned.',
  schema: { type: 'string' },
}

const TYPES = Object.keys(ATTACHMENT_TYPES)
const BYTES = { schema: { type: 'string', contentEncoding: 'binary' } }
const REQUEST_ID = { 'X-Request-ID': componentRef('X-Request-ID', 'headers') }

/** What both transfers can be refused with: no caller is proved, so no code of authentication is among them. */
const COMMON = new Map<number, readonly ErrorCode[]>([
  [400, [1001, 1003, 1007, 2001, 2002]],
  [404, [13001]],
  [429, [1000]],
  [503, [2002]],
])
const UPLOAD_FAILURES: FailureDescription = {
  title: 'AttachmentUpload',
  refusals: withRefusals([1005, 1006, 9000, 13002, 13003, 13004], COMMON),
}
const DOWNLOAD_FAILURES: FailureDescription = { title: 'AttachmentDownload', refusals: COMMON }

/** The failures of the paths of files. */
export const TRANSFER_FAILURES: readonly FailureDescription[] = [UPLOAD_FAILURES, DOWNLOAD_FAILURES]

const responsesTo = (failures: FailureDescription): object =>
  Object.fromEntries(
    [...failures.refusals.keys()].map((status) => [status, failureResponse(failures, status)]),
  )

/** The paths of the bytes of files. Their links are the proof, so they have no signature (F2, F6). */
export const TRANSFER_PATHS: Readonly<Record<string, object>> = {
  [`${UPLOAD_PATH}{link}`]: {
    put: {
      operationId: 'uploadAttachment',
      tags: ['Attachments'],
      summary: 'Sends the bytes of a prepared file',
      description:
        'Use the URL and the headers of `attachment.prepare`. `Content-Length` must be the announced size. A second upload ' +
        'at the same time is refused with 13003; one after another replaces the first, until the file is finalized.',
      security: [],
      parameters: [LINK],
      requestBody: { required: true, content: Object.fromEntries(TYPES.map((type) => [type, BYTES])) },
      responses: {
        200: {
          description: 'All bytes have arrived.',
          headers: REQUEST_ID,
          content: { 'application/json': { schema: componentRef(UPLOAD_RESPONSE) } },
        },
        ...responsesTo(UPLOAD_FAILURES),
      },
    },
  },
  [`${DOWNLOAD_PATH}{link}`]: {
    get: {
      operationId: 'downloadAttachment',
      tags: ['Attachments'],
      summary: 'Downloads a file',
      description: 'Use the URL of `attachment.get`. After 5 minutes the response is 13001.',
      security: [],
      parameters: [LINK],
      responses: {
        200: {
          description: 'The file, to be saved and never shown.',
          headers: REQUEST_ID,
          content: Object.fromEntries(TYPES.map((type) => [type, BYTES])),
        },
        ...responsesTo(DOWNLOAD_FAILURES),
      },
    },
  },
}

/** The schemas that those paths refer to. */
export const TRANSFER_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  [UPLOAD_RESULT]: record({ attachment: ATTACHMENT_VIEW.schema }),
  [UPLOAD_RESPONSE]: successSchema(UPLOAD_RESULT),
}
