import type { IncomingMessage } from 'node:http'
import { fieldError, type PublicError } from '#lib/contract/errors/public-error.ts'
import { isTooFragmented } from '../http/fragmented-body.ts'

/** The body of an upload on its way to the attachments service. */
export interface UploadBody {
  readonly bytes: AsyncIterable<Uint8Array>
  /** Why the gateway stopped it; `undefined` unless it did. The service sees only that the bytes broke off. */
  refusal(): PublicError | undefined
}

/**
 * Passes the bytes of a request on as they arrive. Stops when they are too fragmented (1003). The request itself stays open
 * when they are not read to the end, so that its response can be sent.
 */
export function uploadBodyOf(request: Pick<IncomingMessage, 'iterator'>): UploadBody {
  let refusal: PublicError | undefined
  async function* bytes(): AsyncGenerator<Uint8Array> {
    let fragments = 0
    let length = 0
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      fragments += 1
      length += chunk.length
      if (isTooFragmented(fragments, length)) {
        refusal = fieldError(1003, 'body')
        throw refusal
      }
      yield chunk
    }
  }
  return { bytes: bytes(), refusal: () => refusal }
}
