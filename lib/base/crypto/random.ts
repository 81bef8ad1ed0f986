import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 8192
const pool = Buffer.alloc(POOL_BYTES)
let used = POOL_BYTES
let source: (target: Uint8Array) => void = (target) => {
  randomFillSync(target)
}

/** Replaces the source of randomness of this process, for simulation only, until the returned function is called. */
export function useRandomness(replacement: (target: Uint8Array) => void): () => void {
  const before = source
  source = replacement
  used = POOL_BYTES
  return () => {
    source = before
    used = POOL_BYTES
  }
}

/** Unpredictable bytes of the system's generator. They come from a pool, because a system call costs 1 us. */
export function randomBytes(size: number): Buffer {
  if (size > POOL_BYTES) {
    const large = Buffer.alloc(size)
    source(large)
    return large
  }
  if (used + size > POOL_BYTES) {
    source(pool)
    used = 0
  }
  const bytes = Buffer.from(pool.subarray(used, used + size))
  pool.fill(0, used, used + size)
  used += size
  return bytes
}

/** `size` unpredictable bytes as lower-case hexadecimal text. */
export function randomHex(size: number): string {
  return randomBytes(size).toString('hex')
}

/** A uniform number in [0, 1), for jitter and random choices; never for secrets. */
export function randomFraction(): number {
  return randomBytes(6).readUIntBE(0, 6) / 2 ** 48
}
