import type { IncomingMessage } from 'node:http'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import type { SignResponse } from '../http/exchange.ts'
import type { PublicApiVersion } from './credential.ts'
import type { ReplayPair, ReplayRule } from './replay.ts'

/** What there is of an answer when it is signed. */
export type SignableResponse = Parameters<SignResponse>[0]

/** What one request says of itself, as its route reads it, before any of it is believed. */
export interface SignedContent {
  /** What the caller's signature has to be over. */
  readonly request_bytes: Uint8Array
  /** What the signature of the answer is over. */
  readonly responseBytes: (answer: SignableResponse) => Uint8Array
  /**
   * The replay pair, if there is one. Throws 3000 when it is wrong: on v1 only here, because there nobody has signed
   * it; elsewhere it was read, as a part of what is signed, before the signature.
   */
  readonly replayPair: () => ReplayPair | undefined
}

/** All in which the proofs of the public routes differ. What they have in common is in `authenticate.ts`. */
export interface SignatureScheme extends ReplayRule {
  /** Which credentials may be used with it (A2). */
  readonly versions: readonly PublicApiVersion[]
  /** Where the signature stands, in requests and in answers. */
  readonly header: 'X-Data-Hash' | 'X-Data-Signature'
  /** Makes a signature of 128 lower-case hexadecimal digits. */
  readonly digest: (signed: Uint8Array, secret: Secret) => string
  /** Reads a request. Throws 3000 when a header that is signed is missing or malformed. */
  readonly readSignedContent: (
    request: IncomingMessage,
    application_id: string,
    body: Buffer,
  ) => SignedContent
}
