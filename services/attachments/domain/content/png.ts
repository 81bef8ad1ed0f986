import { crc32 } from 'node:zlib'

const SIGNATURE_BYTES = 8
/** The length, the name and the checksum of a chunk. */
const CHUNK_FRAME_BYTES = 12
const CHUNK_NAME = /^[A-Za-z]{4}$/

/** Whether bytes with the signature of PNG are chunks with right checksums, from IHDR to an IEND that ends the file. */
export function isWholePng(content: Buffer): boolean {
  let at = SIGNATURE_BYTES
  let is_first = true
  while (at + CHUNK_FRAME_BYTES <= content.length) {
    const length = content.readUInt32BE(at)
    const end = at + CHUNK_FRAME_BYTES + length
    if (end > content.length) return false
    const name = content.toString('latin1', at + 4, at + 8)
    if (!CHUNK_NAME.test(name) || (name === 'IHDR') !== is_first) return false
    if (content.readUInt32BE(end - 4) !== crc32(content.subarray(at + 4, end - 4))) return false
    if (name === 'IEND') return length === 0 && end === content.length
    is_first = false
    at = end
  }
  return false
}
