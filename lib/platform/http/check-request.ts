import { StartError } from '#lib/platform/process/start-error.ts'
import { allowAnyAddress } from './address-policy.ts'
import { createHttpClient } from './client.ts'
import { HttpFailure } from './http-failure.ts'
import type { HttpRequest, HttpResponse } from './send-request.ts'
import { createSystemResolver } from './system-resolver.ts'

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
