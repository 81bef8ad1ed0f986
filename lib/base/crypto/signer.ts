import { createHmac, type KeyObject } from 'node:crypto'
import { constantTimeEqual } from './hash.ts'
import type { KeyList } from './keyring.ts'

/** Signs bytes with HMAC-SHA-256 for one purpose, and verifies what was signed. A signature is `key-id.64-hex-digits`. */
export interface Signer {
  /** The signature under the active key. */
  sign(data: Uint8Array | string): string
  /** The signatures under all keys, the active one first: to look up what an earlier key has signed. */
  signWithEach(data: Uint8Array | string): readonly [active: string, ...others: string[]]
  /** Whether one of the keys made the signature. The time it takes reveals nothing of the right one. */
  verify(data: Uint8Array | string, signature: string): boolean
}

/** The id of the key of a signature. */
export function keyIdOfSignature(signature: string): string {
  return signature.slice(0, signature.lastIndexOf('.'))
}

/** Creates the signer of a purpose. */
export function createSigner({ active_id, keys }: KeyList): Signer {
  const signatureOf = (id: string, key: KeyObject, data: Uint8Array | string): string =>
    `${id}.${createHmac('sha256', key).update(data).digest('hex')}`
  const active_key = keys.get(active_id)
  if (active_key === undefined) throw new TypeError(`the active key ${active_id} is not among the keys`)
  const others = [...keys].filter(([id]) => id !== active_id)
  return {
    sign: (data) => signatureOf(active_id, active_key, data),
    signWithEach: (data) => [
      signatureOf(active_id, active_key, data),
      ...others.map(([id, key]) => signatureOf(id, key, data)),
    ],
    verify(data, signature) {
      const id = keyIdOfSignature(signature)
      const key = keys.get(id)
      return key !== undefined && constantTimeEqual(signatureOf(id, key, data), signature)
    },
  }
}

function withoutKeys(): never {
  throw new TypeError('the signed collections were opened without their keys')
}

/** The signer of commands that open signed collections and read nothing of them. */
export const NO_SIGNER: Signer = { sign: withoutKeys, signWithEach: withoutKeys, verify: withoutKeys }
