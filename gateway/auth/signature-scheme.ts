import type { IncomingMessage } from 'node:http'
import type { Secret } from '#lib/base/crypto/secret.ts'
import type { SignableResponse } from '../http/exchange.ts'
import type { PublicApiVersion } from './credential.ts'
import type { ReplayPair, ReplayRule } from './replay.ts'

/** What the signatures of one request and its response cover. Nothing of it is verified yet. */
export interface SignedContent {
  /** The bytes that the caller's signature must cover. */
  readonly request_bytes: Uint8Array
  /** The bytes that the signature of the response covers. */
  readonly responseBytes: (response: SignableResponse) => Uint8Array
  /**
   * Reads the replay pair, if one was sent. Throws 3000 when it is malformed. On v1 this happens only here, because the
   * v1 signature does not cover the pair; the other schemes already read it as a part of `request_bytes`.
   */
  readonly replayPair: () => ReplayPair | undefined
}

/** What differs between the signatures of the public paths. `authenticate.ts` holds what they share. */
export interface SignatureScheme extends ReplayRule {
  /** The API versions whose credentials may use the scheme (A2). */
  readonly versions: readonly PublicApiVersion[]
  /** The header of the signature, in requests and in responses. */
  readonly header: 'X-Data-Hash' | 'X-Data-Signature'
  /** Makes a signature: 128 lower-case hexadecimal digits. */
  readonly digest: (bytes: Uint8Array, secret: Secret) => string
  /** Reads what a request's signature covers. Throws 3000 when a signed header is missing or malformed. */
  readonly readSignedContent: (
    request: IncomingMessage,
    application_id: string,
    body: Buffer,
  ) => SignedContent
}
