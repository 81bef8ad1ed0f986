import { constantTimeEqual, sha512WithSecret } from '#lib/crypto/hash.ts'
import type { Secret } from '#lib/crypto/secret.ts'
import { PublicError } from '#lib/errors/public-error.ts'
import { clock } from '#lib/time.ts'
import { type AddressList, clientAddress } from '../http/address.ts'
import type { Exchange } from '../http/exchange.ts'
import { onlyHeader } from '../http/headers.ts'
import type { Caller } from './caller.ts'
import type { OpenCredential } from './credential.ts'
import { checkFreshness } from './freshness.ts'
import { checkPolicy } from './policy.ts'

/** Proves who sent a request. Rejects with the `PublicError` of the first check that fails, in the order of A1. */
export type Authenticate = (exchange: Exchange, body: Buffer) => Promise<Caller>

/** What the proof needs: the credentials, whose proxies to believe, and how old a time stamp may be. */
export interface AuthenticateOptions {
  readonly findCredential: (application_id: string) => Promise<OpenCredential | undefined>
  readonly trusted_proxies: AddressList | undefined
  readonly window_ms: number
}

const APPLICATION_ID = /^[1-9][0-9]{0,15}$/
const HASH = /^[0-9a-f]{128}$/

/**
 * Makes the proof of v1: SHA-512 over the body's bytes followed by the secret (spec: v1 request headers). The hash
 * does not cover the replay headers; that is the contract, and what keeps a payment single is its c_id.
 */
export function createV1Authenticate({
  findCredential,
  trusted_proxies,
  window_ms,
}: AuthenticateOptions): Authenticate {
  return async ({ request, found }, body) => {
    const { rawHeaders } = request
    const application_id = onlyHeader(rawHeaders, 'x-data-application-id')
    if (application_id === undefined || !APPLICATION_ID.test(application_id)) throw new PublicError(3001)
    found.application_id = application_id
    const hash = onlyHeader(rawHeaders, 'x-data-hash')
    if (hash === undefined || !HASH.test(hash)) throw new PublicError(3002)
    const credential = await findCredential(application_id)
    if (credential === undefined) throw new PublicError(3003)
    const secret = provenSecret(credential, body, hash)
    if (secret === undefined) throw new PublicError(3000)
    found.sign = (answer) => ['X-Data-Hash', sha512WithSecret(answer.body, secret)]
    found.merchant_id = credential.settings?.merchant_id
    found.environment = credential.settings?.environment
    const settings = checkPolicy(credential, 'v1', () => clientAddress(request, trusted_proxies))
    const { merchant_id, environment, service_ids, currencies, disabled_methods } = settings
    checkFreshness(rawHeaders, window_ms)
    return { application_id, merchant_id, environment, service_ids, currencies, disabled_methods, secret }
  }
}

/** Which of the secrets made the hash: during a rotation the old one verifies too, until its time (A6). */
function provenSecret({ secrets }: OpenCredential, body: Buffer, hash: string): Secret | undefined {
  for (const { secret, expires_at_ms } of secrets) {
    if (expires_at_ms !== undefined && expires_at_ms <= clock.now_ms()) continue
    if (constantTimeEqual(sha512WithSecret(body, secret), hash)) return secret
  }
  return undefined
}
