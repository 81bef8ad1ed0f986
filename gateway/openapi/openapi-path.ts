import type { JsonSchema } from '#lib/contract/view.ts'
import { drainRequest } from '../http/request-body.ts'
import { checkRequestHead } from '../http/request-head.ts'
import type { PublicPath } from '../http/server.ts'

/**
 * The path that serves the API reference without a signature, in a gateway whose settings ask for it. The text is made
 * once. `serve` rejects with the refusal of a request whose head is wrong.
 */
export function openApiPath(document: JsonSchema): PublicPath {
  const text = JSON.stringify(document)
  const length = String(Buffer.byteLength(text))
  return {
    path: '/openapi.json',
    target: /^\/openapi\.json$/,
    verb: 'GET',
    async serve({ request, response, request_id }) {
      checkRequestHead(request)
      response.writeHead(200, {
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': length,
        'Cache-Control': 'public, max-age=3600',
        'X-Request-ID': request_id,
      })
      response.end(text)
      if (!request.complete) drainRequest(request, response)
    },
  }
}
