import type { PeerCertificate } from 'node:tls'
import { sha256Hex } from '#lib/platform/crypto/hash.ts'
import type { CallerName } from './service.ts'

/** A token that proves a caller. Only its SHA-256 is kept, so that whoever reads the configuration cannot call. */
export interface CallerToken {
  readonly name: CallerName
  /** Lower-case hexadecimal SHA-256 of the token. */
  readonly sha256: string
}

/** A client certificate that proves a caller. */
export interface CallerCertificate {
  readonly name: CallerName
  /** A DNS name or URI among the certificate's alternative names, or its subject's common name. */
  readonly identity: string
}

/** What a call brings to prove who makes it. */
export interface CallCredentials {
  /** Of several, where all are known, all joined: so they prove nobody. */
  readonly authorization: string | undefined
  /** The client's certificate, which the TLS layer has verified; asked for only when there is no token. */
  certificate(): PeerCertificate | undefined
}

/** Answers who makes a call, or `undefined` for somebody who is not known here. */
export type AuthenticateCaller = (proof: CallCredentials) => CallerName | undefined

const BEARER = /^Bearer ([\x21-\x7e]{1,512})$/i

/**
 * Callers are known by a bearer token or by a client certificate; a call that brings a token is judged by it alone.
 * A name may have several tokens, so that one can be replaced without a gap.
 */
export function createCallerAuthenticator(
  tokens: readonly CallerToken[],
  certificates: readonly CallerCertificate[],
): AuthenticateCaller {
  // Found by its digest: the time this takes can tell something of the digest, which is of no help with the token.
  const byDigest = new Map(tokens.map(({ sha256, name }) => [sha256, name]))
  const byIdentity = new Map(certificates.map(({ identity, name }) => [identity, name]))
  return ({ authorization, certificate }) => {
    if (authorization !== undefined) {
      const token = BEARER.exec(authorization)?.[1]
      return token === undefined ? undefined : byDigest.get(sha256Hex(token))
    }
    if (byIdentity.size === 0) return undefined
    for (const identity of identitiesOf(certificate())) {
      const name = byIdentity.get(identity)
      if (name !== undefined) return name
    }
    return undefined
  }
}

function identitiesOf(certificate: PeerCertificate | undefined): readonly string[] {
  if (certificate === undefined) return []
  const alternative = certificate.subjectaltname ?? ''
  // Node quotes a name that holds a separator: such a name could pass for several, so none of them counts.
  const names = alternative.includes('"') ? [] : alternative.split(', ')
  const identities = names.flatMap((name) => /^(?:DNS|URI):(.+)$/.exec(name)?.[1] ?? [])
  const common_name: unknown = certificate.subject?.CN
  return typeof common_name === 'string' ? [...identities, common_name] : identities
}
