import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AttachmentType } from '#lib/contract/attachments.ts'
import { isErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { StreamHandler, StreamRequest, StreamResponse } from '#lib/http/internal-link.ts'

/*
 * What the gateway and the attachments service say to each other next to the bytes. The paths end with the sealed link,
 * which is the proof; the responses are an attachment in protobuf, the bytes, or a refusal.
 */

/** The internal path of an upload, before its proof. */
export const INTERNAL_UPLOAD_PATH = '/uploads/'

/** The internal path of a download, before its proof. */
export const INTERNAL_DOWNLOAD_PATH = '/downloads/'

/** The HTTP status of every refusal. The code of the error table is in the body. */
export const REFUSAL_STATUS = 409

/** Writes a refusal. */
export function encodeRefusal({ code, details }: PublicError): string {
  return JSON.stringify({ code, details })
}

/** Reads a refusal. A text that is none, also one with a code that this release does not know, is 2001. */
export function decodeRefusal(text: string): PublicError {
  const { code, details } = parse(text)
  if (typeof code !== 'number' || !isErrorCode(code))
    return new PublicError(2001, { cause: new Error('the attachments service gave an unknown response') })
  return new PublicError(code, isInfo(details) ? { details } : {})
}

function parse(text: string): { readonly code?: unknown; readonly details?: unknown } {
  try {
    const value: unknown = JSON.parse(text)
    return isInfo(value) ? value : {}
  } catch {
    return {}
  }
}

function isInfo(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Sends a request to the attachments service. Throws its refusal, and `Unavailable` when it gives no response. */
export async function sendTransfer(
  { sendToAttachments }: { readonly sendToAttachments: StreamHandler },
  request: StreamRequest,
): Promise<StreamResponse> {
  const response = await sendToAttachments(request)
  if (response.status === 200) return response
  const text = (await readShort(response.body)).toString()
  throw response.status === REFUSAL_STATUS
    ? decodeRefusal(text)
    : new PublicError(2002, { cause: new Error(`HTTP ${response.status}`) })
}

const SHORT_BODY_MAX_BYTES = 64 * 1024

/** Reads a response that is not a file. Throws 2001 for one that is longer than any of those. */
export async function readShort(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > SHORT_BODY_MAX_BYTES)
      throw new PublicError(2001, { cause: new RangeError('the response is too long') })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The type of a download, as browsers need it. There is no other (F6). */
const CONTENT_TYPES: Readonly<Record<AttachmentType, string>> = {
  'application/pdf': 'application/pdf',
  'image/png': 'image/png',
  'image/jpeg': 'image/jpeg',
  'image/webp': 'image/webp',
  'text/plain': 'text/plain; charset=utf-8',
  'text/csv': 'text/csv; charset=utf-8',
}

/** Every browser saves the file and neither guesses its type, runs it, keeps it, nor tells another site of the link. */
const SAFETY_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'private, no-store',
} as const

/** The headers of a download. `headers` are those of the attachments service, which knows the name. */
export function downloadHeaders(
  { mime_type, size_bytes }: { readonly mime_type: AttachmentType; readonly size_bytes: number },
  { headers }: Pick<StreamResponse, 'headers'>,
): Readonly<Record<string, string>> {
  return {
    'Content-Type': CONTENT_TYPES[mime_type],
    'Content-Length': String(size_bytes),
    'Content-Disposition': String(headers['content-disposition'] ?? 'attachment'),
    ...SAFETY_HEADERS,
  }
}

const LISTENERS_MAX = 20

/** Sends the bytes of a download. A pipeline alone listens to the close eight times, so Node's limit of ten would warn of a leak. */
export async function pipeDownload(
  body: AsyncIterable<Uint8Array>,
  response: Writable,
  signal: AbortSignal,
): Promise<void> {
  response.setMaxListeners(LISTENERS_MAX)
  await pipeline(body, response, { signal })
}
