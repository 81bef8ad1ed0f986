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

/**
 * A UUIDv8 that begins with a time like a UUIDv7, so that ids sort by it, and goes on with 74 bits of a hash: the same time
 * and hash have the same id.
 */
export function uuidFromHash(hash_hex: string, at: Date): string {
  if (!/^[0-9a-f]{32,}$/.test(hash_hex)) throw new TypeError('a hash has at least 32 hexadecimal digits')
  const time = Math.max(0, at.getTime()).toString(16).padStart(12, '0')
  const variant = (8 | (Number.parseInt(hash_hex.charAt(3), 16) & 3)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-8${hash_hex.slice(0, 3)}-${variant}${hash_hex.slice(4, 7)}-${hash_hex.slice(7, 19)}`
}

/** The UUIDv8 that follows from a hash alone, such as the hash of an `operation_id`. Its time says nothing. */
export function idFromHash(hash_hex: string): string {
  return uuidFromHash(hash_hex, new Date(Number.parseInt(hash_hex.slice(-12), 16)))
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
