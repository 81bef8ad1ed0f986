import { drainRequest } from './request-body.ts'
import { checkRequestHead } from './request-head.ts'
import type { PublicPath } from './server.ts'

/** A file that anyone may read, without a signature. */
export interface PublicFile {
  /** Its path: letters, digits, dots, hyphens and slashes. */
  readonly path: string
  readonly content: Buffer
  readonly content_type: string
  /** More headers of its response. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The path that serves a file. `serve` rejects with the refusal of a request whose head is wrong. */
export function publicFilePath({ path, content, content_type, headers = {} }: PublicFile): PublicPath {
  return {
    path,
    target: new RegExp(`^${path.replaceAll('.', '\\.')}$`),
    verb: 'GET',
    async serve({ request, response, request_id }) {
      checkRequestHead(request)
      response.writeHead(200, {
        'Content-Type': content_type,
        'Content-Length': String(content.length),
        'Cache-Control': 'public, max-age=3600',
        'X-Content-Type-Options': 'nosniff',
        ...headers,
        'X-Request-ID': request_id,
      })
      response.end(content)
      if (!request.complete) drainRequest(request, response)
    },
  }
}
