import type { PeerCertificate } from 'node:tls'
import { ChannelCredentials } from '@grpc/grpc-js'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { Tls, TlsMaterial } from '#lib/http/tls.ts'
import type { CallerName } from './service.ts'

/**
 * The Authorization header from the raw header lines, names and values in turn. Several are joined, which no token matches:
 * Node's own view has only the first one, but a proxy in front may have checked another.
 */
export function authorizationOf(lines: readonly string[]): string | undefined {
  let joined: string | undefined
  for (let index = 0; index + 1 < lines.length; index += 2) {
    if (lines[index]?.toLowerCase() !== 'authorization') continue
    const value = lines[index + 1] ?? ''
    joined = joined === undefined ? value : `${joined}, ${value}`
  }
  return joined
}

/** The channel credentials of this process's gRPC clients: its certificate and the certificate authority that it trusts. */
export function channelCredentials(tls: Tls | undefined): ChannelCredentials {
  return tls === undefined ? ChannelCredentials.createInsecure() : new CurrentCredentials(tls)
}

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>

/**
 * Credentials that use the present TLS files for each new connection. A channel of grpc-js keeps its credentials for its
 * whole life, and asks for a connector before it connects, so the files are chosen in `connect`. This is a class because
 * grpc-js accepts only subclasses of its own.
 */
class CurrentCredentials extends ChannelCredentials {
  readonly #latest: () => ChannelCredentials

  constructor(tls: Tls) {
    super()
    let latest = credentialsOf(tls.current())
    tls.onChange((material) => {
      latest = credentialsOf(material)
    })
    this.#latest = () => latest
  }

  override _isSecure(): boolean {
    return true
  }

  override _equals(other: ChannelCredentials): boolean {
    return other === this
  }

  override _createSecureConnector(
    ...target: Parameters<ChannelCredentials['_createSecureConnector']>
  ): SecureConnector {
    const first = this.#latest()._createSecureConnector(...target)
    return {
      connect: (socket) =>
        this.#latest()
          ._createSecureConnector(...target)
          .connect(socket),
      waitForReady: () => first.waitForReady(),
      getCallCredentials: () => first.getCallCredentials(),
      destroy: () => first.destroy(),
    }
  }
}

function credentialsOf({ key, certificate, ca }: TlsMaterial): ChannelCredentials {
  return ChannelCredentials.createSsl(ca ?? null, key, certificate)
}

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

/** The token of an Authorization header; `undefined` without one. */
export function bearerTokenOf(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]
}

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
      const token = bearerTokenOf(authorization)
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
