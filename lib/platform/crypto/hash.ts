import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Secret } from './secret.ts'

/** The v1 hash (spec: v1 request headers): SHA-512 over the body bytes and then the UTF-8 secret, in lower-case hex. */
export function sha512WithSecret(body: Uint8Array, secret: Secret): string {
  return hash('sha512', Buffer.concat([body, Buffer.from(secret.reveal())]), 'hex')
}

/** SHA-256 of bytes or UTF-8 text, lower-case hex. */
export function sha256Hex(data: Uint8Array | string): string {
  return hash('sha256', data, 'hex')
}

/** The UUIDv8 of a hash: the first 122 free bits of its hexadecimal text. The same hash has the same id. */
export function uuidFromHash(hash_hex: string): string {
  if (!/^[0-9a-f]{32,}$/.test(hash_hex)) throw new TypeError('a hash has at least 32 hexadecimal digits')
  const variant = (8 | (Number.parseInt(hash_hex.charAt(16), 16) & 3)).toString(16)
  return `${hash_hex.slice(0, 8)}-${hash_hex.slice(8, 12)}-8${hash_hex.slice(13, 16)}-${variant}${hash_hex.slice(17, 20)}-${hash_hex.slice(20, 32)}`
}

/** HMAC of bytes or UTF-8 text keyed with the UTF-8 of the secret, lower-case hex. */
export function hmacHex(algorithm: 'sha256' | 'sha512', secret: Secret, data: Uint8Array | string): string {
  return createHmac(algorithm, secret.reveal()).update(data).digest('hex')
}

/** Whether two texts are equal. The time it takes reveals only whether their lengths are equal. */
export function constantTimeEqual(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}
