/** The path of creates. The path of a lookup appends `/` and the idempotency key. */
export const OPERATIONS_PATH = '/provider/v1/operations'

/**
 * The refusals of a request itself, with codes of Multihub's error table. They store nothing, so the key may be sent
 * again in a valid request.
 */
const REQUEST_REFUSALS = {
  unknown_path: { http_status: 404, code: 1001 },
  wrong_verb: { http_status: 405, code: 1007 },
  key_conflict: { http_status: 409, code: 1013 },
  not_authenticated: { http_status: 401, code: 4001 },
  not_found: { http_status: 404, code: 6010 },
  too_large: { http_status: 413, code: 8000 },
  malformed: { http_status: 400, code: 8000 },
} as const

/** A complete HTTP response. `type` is its content type. */
export interface ServerResponse {
  readonly kind: 'response'
  readonly http_status: number
  readonly type: string
  readonly body: string
}

/** What the server does with a request: it responds, leaves the connection without a response, or resets it. */
export type ServerAction = ServerResponse | { readonly kind: 'no_response' } | { readonly kind: 'reset' }

/** The response of a refused request. */
export function refuse(name: keyof typeof REQUEST_REFUSALS): ServerResponse {
  const { http_status, code } = REQUEST_REFUSALS[name]
  return respondJson(http_status, { accepted: false, code })
}

/** A response in the form of the protocol. */
export function respondJson(http_status: number, body: object): ServerResponse {
  return { kind: 'response', http_status, type: 'application/json', body: JSON.stringify(body) }
}

/** A response that is not JSON, so that callers cannot mistake it for one of the protocol. */
export function respondText(http_status: number, body: string): ServerResponse {
  return { kind: 'response', http_status, type: 'text/plain; charset=utf-8', body }
}
