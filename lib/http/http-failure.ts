/** Why a request got no response. */
export type FailureReason =
  | 'bad_request'
  | 'busy'
  | 'no_socket'
  | 'no_name_server'
  | 'dns'
  | 'refused_address'
  | 'refused'
  | 'tls'
  | 'timeout_connect'
  | 'timeout'
  | 'reset'
  | 'too_large'
  | 'bad_response'
  | 'aborted'

/**
 * The reasons that say nothing about the destination: no connection was available, this process has no socket or file left,
 * none of its name servers can be reached, or it is stopping.
 */
export const OWN_FAILURES: ReadonlySet<FailureReason> = new Set([
  'busy',
  'no_socket',
  'no_name_server',
  'aborted',
])

/**
 * A request without a response. `not_sent`: it is certain that no byte of the request left this system. `unknown`: the
 * receiver may have got the request and acted on it. Payments rely on this difference: a repetition after `unknown`
 * could pay twice (P4).
 */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure'
  readonly kind: 'not_sent' | 'unknown'
  readonly reason: FailureReason

  constructor(kind: HttpFailure['kind'], reason: FailureReason, cause?: unknown) {
    super(`${kind}: ${reason}`, cause === undefined ? undefined : { cause })
    this.kind = kind
    this.reason = reason
  }
}

/** The address policy refuses this destination. */
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError'
}

/** The response has more bytes than a response within the limits can have. */
export class OversizedResponseError extends Error {
  override readonly name = 'OversizedResponseError'
}

/** The host name has no address, or no name server answered. Its cause is the error of the lookup. */
export class UnresolvedNameError extends Error {
  override readonly name = 'UnresolvedNameError'
}

/** What a lookup fails with when no name server of this machine can be asked. A name server that is slow is `dns`. */
const NO_NAME_SERVER_CODES: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOMEM', 'EFILE'])

const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|INVALID_CA|HOSTNAME_MISMATCH|EPROTO)/

const REASON_BY_CODE: Readonly<Record<string, FailureReason>> = {
  ECONNREFUSED: 'refused',
  EMFILE: 'no_socket',
  ENFILE: 'no_socket',
  ENOBUFS: 'no_socket',
  ENOMEM: 'no_socket',
  ETIMEDOUT: 'timeout_connect',
  UND_ERR_CONNECT_TIMEOUT: 'timeout_connect',
  UND_ERR_INVALID_ARG: 'bad_request',
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'bad_response',
  UND_ERR_DESTROYED: 'aborted',
  UND_ERR_CLOSED: 'aborted',
}

/** Maps an error of the transport to a reason. `sent`: whether the first byte of the request was already written. */
export function toFailureReason(error: Error, sent: boolean): FailureReason {
  if (error instanceof RefusedAddressError) return 'refused_address'
  if (error instanceof UnresolvedNameError)
    return NO_NAME_SERVER_CODES.has(codeOf(error.cause)) ? 'no_name_server' : 'dns'
  if (error instanceof OversizedResponseError) return 'too_large'
  const code = codeOf(error)
  if (error.name === 'HTTPParserError' || /^bad (response|upgrade)/.test(error.message)) return 'bad_response'
  if (sent) return code === 'ETIMEDOUT' ? 'timeout' : (REASON_BY_CODE[code] ?? 'reset')
  return TLS_CODE.test(code) ? 'tls' : (REASON_BY_CODE[code] ?? 'refused')
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
}
