import { PublicError } from '#lib/contract/errors/public-error.ts'
import { constantTimeEqual } from '#lib/platform/crypto/hash.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import type { IpRanges } from '#lib/platform/http/ip-ranges.ts'
import type { Log } from '#lib/platform/telemetry/log.ts'
import { clock } from '#lib/platform/time.ts'
import { clientAddress } from '../http/address.ts'
import type { Exchange, SignResponse } from '../http/exchange.ts'
import { singleHeader } from '../http/headers.ts'
import type { Caller } from './caller.ts'
import type { UnsealedCredential } from './credential.ts'
import type { NonceStore } from './nonce-store.ts'
import { checkPolicy } from './policy.ts'
import { createReplayCheck } from './replay.ts'
import type { SignatureScheme, SignedContent } from './signature-scheme.ts'
import { V2_NONCE_PATTERN } from './v2-scheme.ts'

/** Proves who sent a request. Rejects with the `PublicError` of the first check that fails, in the order of A1. */
export type AuthenticateRequest = (exchange: Exchange, body: Buffer) => Promise<Caller>

/** What every proof needs: the credentials, the nonces that were used, and whose proxies to believe. */
export interface AuthenticationDeps {
  readonly findCredential: (application_id: string) => Promise<UnsealedCredential | undefined>
  readonly nonces: NonceStore
  readonly trusted_proxies: IpRanges | undefined
  readonly log: Log
}

/** The form of every hash and signature. */
export const SIGNATURE_PATTERN = /^[0-9a-f]{128}$/

const APPLICATION_ID = /^[1-9][0-9]{0,15}$/

/** Whether this is how a caller is refused whose proof is missing or wrong. */
export function isAuthenticationFailure(error: unknown): boolean {
  return error instanceof PublicError && error.code >= 3000 && error.code <= 3003
}

/**
 * Makes the authentication of a route: the steps that all proofs share. Until the signature held, a caller learns
 * nothing but 3000 to 3003; from then on every answer is signed (A5), and a nonce is spent last of all.
 */
export function createRequestAuthenticator(
  { findCredential, nonces, trusted_proxies, log }: AuthenticationDeps,
  proof: SignatureScheme,
): AuthenticateRequest {
  const signature_header = proof.header.toLowerCase()
  const spendPair = createReplayCheck(nonces, proof, log)
  return async ({ request, context: found }, body) => {
    const { rawHeaders } = request
    const application_id = singleHeader(rawHeaders, 'x-data-application-id')
    if (application_id === undefined || !APPLICATION_ID.test(application_id)) throw new PublicError(3001)
    found.application_id = application_id
    const signature = singleHeader(rawHeaders, signature_header)
    if (signature === undefined || !SIGNATURE_PATTERN.test(signature)) throw new PublicError(3002)
    const credential = await findCredential(application_id)
    if (credential === undefined) throw new PublicError(3003)
    const claim = proof.readSignedContent(request, application_id, body)
    const secret = findSigningSecret(credential, proof, claim, signature)
    if (secret === undefined) throw new PublicError(3000)
    const { responseBytes: signedAnswer, replayPair: pairOf } = claim
    found.sign = responseSigner(proof, signedAnswer, secret)
    found.merchant_id = credential.settings?.merchant_id
    found.environment = credential.settings?.environment
    const settings = checkPolicy(credential, proof.versions, () => clientAddress(request, trusted_proxies))
    const pair = pairOf()
    // A v2 credential never goes without, nor with less than a nonce of v2, wherever it may be used (A2, A3).
    if (settings.version === 'v2' && !V2_NONCE_PATTERN.test(pair?.nonce ?? '')) throw new PublicError(3000)
    if (pair !== undefined) await spendPair(application_id, pair)
    return { ...settings, application_id, secret }
  }
}

/**
 * Made apart on purpose: a function made inside the authentication keeps all that is known there, and the collector
 * then carried a fifth of every request's objects from one collection to the next.
 */
function responseSigner(
  { header, digest }: SignatureScheme,
  signedAnswer: SignedContent['responseBytes'],
  secret: Secret,
): SignResponse {
  return (answer) => [header, digest(signedAnswer(answer), secret)]
}

/** Which of the secrets made the signature: during a rotation the old one verifies too, until its time (A6). */
function findSigningSecret(
  { secrets }: UnsealedCredential,
  { digest }: SignatureScheme,
  { request_bytes: signed }: SignedContent,
  signature: string,
): Secret | undefined {
  for (const { secret, expires_at_ms } of secrets) {
    if (expires_at_ms !== undefined && expires_at_ms <= clock.now_ms()) continue
    if (constantTimeEqual(digest(signed, secret), signature)) return secret
  }
  return undefined
}
