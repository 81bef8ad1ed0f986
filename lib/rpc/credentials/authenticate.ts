import type { PeerCertificate } from 'node:tls'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { CallerName } from '../service.ts'

/** A caller's bearer token. Only its SHA-256 is configured, so that the configuration does not reveal it. */
export interface CallerToken {
  readonly name: CallerName
  /** Lower-case hexadecimal SHA-256 of the token. */
  readonly sha256: string
}

/** A caller's client certificate. */
export interface CallerCertificate {
  readonly name: CallerName
  /** A DNS name or URI among the certificate's alternative names, or its subject's common name. */
  readonly identity: string
}

/** The credentials of a call. */
export interface CallCredentials {
  /**
   * The Authorization header. Several are joined with a comma and a space, which no token matches.
   */
  readonly authorization: string | undefined
  /** The client's certificate, verified by the TLS layer. Called only when there is no Authorization header. */
  certificate(): PeerCertificate | undefined
}

/** Returns the caller of a call, or `undefined` when its credentials are unknown. */
export type AuthenticateCaller = (credentials: CallCredentials) => CallerName | undefined

const BEARER = /^Bearer ([\x21-\x7e]{1,512})$/i

/**
 * Creates the authentication of callers by bearer token or client certificate. A call with an
 * Authorization header is judged by that header alone. A caller may have several tokens, so that a token can be replaced
 * without interruption.
 */
export function createCallerAuthenticator(
  tokens: readonly CallerToken[],
  certificates: readonly CallerCertificate[],
): AuthenticateCaller {
  // Looked up by digest. The time of the lookup may reveal parts of the digest, which do not help to find the token.
  const callers_by_digest = new Map(tokens.map(({ sha256, name }) => [sha256, name]))
  const callers_by_identity = new Map(certificates.map(({ identity, name }) => [identity, name]))
  return ({ authorization, certificate }) => {
    if (authorization !== undefined) {
      const token = BEARER.exec(authorization)?.[1]
      return token === undefined ? undefined : callers_by_digest.get(sha256Hex(token))
    }
    if (callers_by_identity.size === 0) return undefined
    for (const identity of identitiesOf(certificate())) {
      const name = callers_by_identity.get(identity)
      if (name !== undefined) return name
    }
    return undefined
  }
}

function identitiesOf(certificate: PeerCertificate | undefined): readonly string[] {
  if (certificate === undefined) return []
  const alternative = certificate.subjectaltname ?? ''
  // Node quotes a name that contains a separator. Such a name could pass for several, so no name is accepted then.
  const names = alternative.includes('"') ? [] : alternative.split(', ')
  const identities = names.flatMap((name) => /^(?:DNS|URI):(.+)$/.exec(name)?.[1] ?? [])
  const common_name: unknown = certificate.subject?.CN
  return typeof common_name === 'string' ? [...identities, common_name] : identities
}
