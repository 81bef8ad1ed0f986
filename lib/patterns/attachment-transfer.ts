import { isErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'

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
