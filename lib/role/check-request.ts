import { StartError } from '#lib/base/start-error.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient } from '#lib/http/client.ts'
import { HttpFailure } from '#lib/http/http-failure.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/send-request.ts'
import { createSystemResolver } from '#lib/http/system-resolver.ts'

/**
 * Sends one request of `doctor` to a server that takes connections, and returns its response. Throws `StartError` with the
 * failure and the advice when there is none, as from a server that hangs.
 */
export async function sendCheckRequest(request: HttpRequest, advice: string): Promise<HttpResponse> {
  const http = createHttpClient({ allow: allowAnyAddress, resolve: createSystemResolver() })
  try {
    return await http.request(request)
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error
    throw noResponse(error.reason, advice)
  } finally {
    await http.close()
  }
}

/** The error for a server that takes connections and gives no response to a request. */
export function noResponse(reason: string, advice: string): StartError {
  return new StartError(`something listens there, but gives no HTTP response (${reason}): ${advice}`)
}
