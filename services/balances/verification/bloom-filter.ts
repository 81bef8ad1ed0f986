/** A set of texts in a fixed amount of memory, and therefore not exact. */
export interface BloomFilter {
  /** Adds a text. `false`: it was certainly not in the set. `true`: it may have been, so the caller must check. */
  add(text: string): boolean
}

const BITS = 2 ** 26
const PROBES = 4

/**
 * Creates a Bloom filter of 8 MiB. With it, a check for repeated ids runs over a journal of any length in fixed memory.
 * False positives: about one in 80,000 at a million texts, about one in 20 at ten million.
 */
export function createBloomFilter(): BloomFilter {
  const bits = new Uint8Array(BITS / 8)
  return {
    add(text) {
      const start = fnv1a(text, 0x811c9dc5)
      const stride = fnv1a(text, 0x01000193) | 1
      let is_present = true
      for (let probe = 0; probe < PROBES; probe += 1) {
        const bit = ((start + Math.imul(probe, stride)) >>> 0) & (BITS - 1)
        const byte = bits[bit >>> 3] ?? 0
        const mask = 1 << (bit & 7)
        if ((byte & mask) === 0) is_present = false
        bits[bit >>> 3] = byte | mask
      }
      return is_present
    },
  }
}

function fnv1a(text: string, seed: number): number {
  let hash = seed
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  // The low bits of this hash are poorly distributed, so the high bits are folded into them.
  return (hash ^ (hash >>> 15)) >>> 0
}
