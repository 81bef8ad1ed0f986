import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Headers by the names that the documentation uses. */
export type Headers = Readonly<Record<string, string>>

/** The common fields of request and response vectors. */
export interface SignedVector {
  readonly name: string
  readonly secret: string
  readonly body: string
  readonly body_bytes: number
  readonly signed_text: string
  readonly headers: Headers
}

/** A signed request. `path` is set on the resend path; there `timestamp` and `nonce` are null when it has neither. */
export interface RequestVector extends SignedVector {
  readonly application_id: string
  readonly path?: string
  readonly timestamp?: string | null
  readonly nonce?: string | null
}

/** A signed v2 response, whose signature covers more than its body. */
export interface V2ResponseVector extends SignedVector {
  readonly application_id: string
  readonly request_nonce: string
  readonly request_id: string
  readonly http_status: number
}

/** A signed callback, with one signed text per signature. */
export interface CallbackVector extends Omit<SignedVector, 'signed_text'> {
  readonly webhook_id: string
  readonly timestamp: string
  readonly nonce: string
  readonly signed_text: Headers
}

/** The derived secret of a payment's `webhook_url`. */
export interface WebhookSecretVector {
  readonly name: string
  readonly api_secret: string
  readonly signed_text: string
  readonly webhook_secret: string
}

/** Reads the cases of one file. Its `about` and `formula` fields explain them. */
export function readVectors<T>(file: string): readonly T[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, `${file}.json`), 'utf8')).cases
}
