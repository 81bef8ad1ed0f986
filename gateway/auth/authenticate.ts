import { constantTimeEqual } from '#lib/base/crypto/hash.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { IpRanges } from '#lib/http/address-policy.ts'
import { clientAddress } from '#lib/http/trusted-proxies.ts'
import type { Exchange, SignResponse } from '../http/exchange.ts'
import type { ReceivedBody } from '../http/request-body.ts'
import { singleHeader } from '../http/request-head.ts'
import { type Caller, checkCredential, type UnsealedCredential } from './credential.ts'
import { createReplayCheck, type ReplayCheckDeps } from './replay.ts'
import { type SignatureScheme, type SignedContent, V2_NONCE_PATTERN } from './signature-schemes.ts'

/** Authenticates a request. Rejects with the `PublicError` of the first check that fails, in the order of A1. */
export type AuthenticateRequest = (exchange: Exchange, body: ReceivedBody) => Promise<Caller>

/** What every signature scheme needs. */
export interface AuthenticationDeps extends ReplayCheckDeps {
  readonly findCredential: (application_id: string) => Promise<UnsealedCredential | undefined>
  /** The proxies whose X-Forwarded-For is believed. */
  readonly trusted_proxies: IpRanges | undefined
}

/** The form of every hash and signature. */
export const SIGNATURE_PATTERN = /^[0-9a-f]{128}$/

const APPLICATION_ID_PATTERN = /^[1-9][0-9]{0,15}$/

/** Whether an error is a refusal of missing or wrong authentication (3000 to 3003). */
export function isAuthenticationFailure(error: unknown): boolean {
  return error instanceof PublicError && error.code >= 3000 && error.code <= 3003
}

/**
 * Makes the authentication of a public path from its signature scheme.
 *
 * Before the signature is verified, a caller gets only 3000 to 3003, or 2002 when no credential can be read. After
 * that, every response is signed (A5). The nonce is consumed by the last check of authentication, so that a request
 * that fails an earlier one does not use it up.
 */
export function createRequestAuthenticator(
  deps: AuthenticationDeps,
  scheme: SignatureScheme,
): AuthenticateRequest {
  const signature_header = scheme.header.toLowerCase()
  const { findCredential, trusted_proxies, now_ms } = deps
  const checkReplay = createReplayCheck(deps, scheme)
  return async ({ request, context }, body) => {
    const { rawHeaders } = request
    const application_id = singleHeader(rawHeaders, 'x-data-application-id')
    if (application_id === undefined || !APPLICATION_ID_PATTERN.test(application_id))
      throw new PublicError(3001)
    context.application_id = application_id
    const signature = singleHeader(rawHeaders, signature_header)
    if (signature === undefined || !SIGNATURE_PATTERN.test(signature)) throw new PublicError(3002)
    const credential = await findCredential(application_id)
    if (credential === undefined) throw new PublicError(3003)
    context.claimed = credential.settings
    const content = scheme.readSignedContent(request, application_id, body())
    const secret = findSigningSecret(credential, scheme, content, signature, now_ms())
    if (secret === undefined) throw new PublicError(3000)
    const { responseBytes, replayPair } = content
    context.sign = responseSigner(scheme, responseBytes, secret)
    context.merchant_id = credential.settings?.merchant_id
    context.environment = credential.settings?.environment
    const settings = checkCredential(credential, scheme.versions, () =>
      clientAddress(request, trusted_proxies),
    )
    const pair = replayPair()
    // A v2 credential always needs a replay pair with a v2 nonce, on every path (A2, A3).
    if (settings.version === 'v2' && !V2_NONCE_PATTERN.test(pair?.nonce ?? '')) throw new PublicError(3000)
    if (pair !== undefined) await checkReplay(application_id, pair)
    return { ...settings, application_id, secret }
  }
}

/**
 * Makes the signer of a response. A function outside of the authentication on purpose: a closure made inside would keep
 * all variables of the authentication alive. Measured: the garbage collector then copied a fifth of every request's
 * objects from one collection to the next.
 */
function responseSigner(
  { header, digest }: SignatureScheme,
  responseBytes: SignedContent['responseBytes'],
  secret: Secret,
): SignResponse {
  return (response) => [header, digest(responseBytes(response), secret)]
}

/** The secret that made the signature. During a rotation the old secret also verifies, until it expires (A6). */
function findSigningSecret(
  { secrets }: UnsealedCredential,
  { digest }: SignatureScheme,
  { request_bytes }: SignedContent,
  signature: string,
  at_ms: number,
): Secret | undefined {
  for (const { secret, expires_at_ms } of secrets) {
    if (expires_at_ms !== undefined && expires_at_ms <= at_ms) continue
    if (constantTimeEqual(digest(request_bytes, secret), signature)) return secret
  }
  return undefined
}
