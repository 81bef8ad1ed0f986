import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Headers by the names that the documentation uses. */
export type Headers = Readonly<Record<string, string>>

/** What the vectors of requests and answers have in common. */
export interface SignedVector {
  readonly name: string
  readonly secret: string
  readonly body: string
  readonly body_bytes: number
  readonly signed_text: string
  readonly headers: Headers
}

/** A signed request; on the resend route with its path, and without the pair both are null. */
export interface RequestVector extends SignedVector {
  readonly application_id: string
  readonly path?: string
  readonly timestamp?: string | null
  readonly nonce?: string | null
}

/** A signed answer of v2, whose signature covers more than its body. */
export interface V2ResponseVector extends SignedVector {
  readonly application_id: string
  readonly request_nonce: string
  readonly request_id: string
  readonly http_status: number
}

/** A signed callback: one text a signature. */
export interface CallbackVector extends Omit<SignedVector, 'signed_text'> {
  readonly webhook_id: string
  readonly timestamp: string
  readonly nonce: string
  readonly signed_text: Headers
}

/** The secret of a payment's own callback address. */
export interface WebhookSecretVector {
  readonly name: string
  readonly api_secret: string
  readonly signed_text: string
  readonly webhook_secret: string
}

/** The cases of one file; what they are is written in the file itself. */
export function readVectors<T>(file: string): readonly T[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, `${file}.json`), 'utf8')).cases
}
