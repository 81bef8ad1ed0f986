import { ATTACHMENT_TYPES, DOWNLOAD_PATH, UPLOAD_PATH } from '#lib/contract/attachments.ts'
import { componentRef, type JsonSchema, record } from '#lib/contract/view.ts'
import { ATTACHMENT_VIEW } from '../methods/attachments.ts'
import { codesByStatus, successSchema } from './envelope-schemas.ts'
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

const FAILURES = Object.fromEntries(
  [400, 404, 409, 429, 503]
    .filter((status) => codesByStatus().has(status))
    .map((status) => [status, failureResponse(status)]),
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
        ...FAILURES,
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
        ...FAILURES,
      },
    },
  },
}

/** The schemas that those paths refer to. */
export const TRANSFER_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  [UPLOAD_RESULT]: record({ attachment: ATTACHMENT_VIEW.schema }),
  [UPLOAD_RESPONSE]: successSchema(UPLOAD_RESULT),
}
