/** What went wrong with an exchange. */
export type FailureReason =
  | 'bad_request'
  | 'busy'
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
 * An exchange that gave no answer. `not_sent`: no byte of the request has left this system, for certain. `unknown`:
 * it may have arrived and may have been acted upon. This is the line between correct and paying twice (P4).
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

/** The rule for addresses forbids this destination. */
export class RefusedAddressError extends Error {
  override readonly name = 'AddressRefused'
}

/** The name has no address, or no name server answered. */
export class UnresolvedNameError extends Error {
  override readonly name = 'NameUnresolved'
}

const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|INVALID_CA|HOSTNAME_MISMATCH|EPROTO)/

const BY_CODE: Readonly<Record<string, FailureReason>> = {
  ECONNREFUSED: 'refused',
  ETIMEDOUT: 'timeout_connect',
  UND_ERR_CONNECT_TIMEOUT: 'timeout_connect',
  UND_ERR_INVALID_ARG: 'bad_request',
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'bad_response',
  UND_ERR_DESTROYED: 'aborted',
  UND_ERR_CLOSED: 'aborted',
}

/** The reason behind an error of the transport; `sent` says whether the request had begun to be written. */
export function toFailureReason(error: Error, sent: boolean): FailureReason {
  if (error instanceof RefusedAddressError) return 'refused_address'
  if (error instanceof UnresolvedNameError) return 'dns'
  const code = 'code' in error ? String(error.code) : ''
  if (error.name === 'HTTPParserError' || /^bad (response|upgrade)/.test(error.message)) return 'bad_response'
  if (sent) return code === 'ETIMEDOUT' ? 'timeout' : (BY_CODE[code] ?? 'reset')
  return TLS_CODE.test(code) ? 'tls' : (BY_CODE[code] ?? 'refused')
}
