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

const MARKER = 0xff
const START_OF_SCAN = 0xda
const END_OF_IMAGE = 0xd9
const START_OF_IMAGE = 0xd8

/** Markers without a length: TEM, and the restarts within the data of a scan. */
const isStandalone = (code: number): boolean => code === 0x01 || (code >= 0xd0 && code <= 0xd7)

/** Whether bytes that begin as JPEG are segments and scans, up to an end marker that ends the file. */
export function isWholeJpeg(content: Buffer): boolean {
  let at = 2
  let has_scan = false
  while (at + 2 <= content.length) {
    if (content[at] !== MARKER) return false
    const code = content[at + 1] ?? 0
    // A marker may have any number of fill bytes before it.
    if (code === MARKER) at += 1
    else if (code === END_OF_IMAGE) return has_scan && at + 2 === content.length
    else if (code === 0 || code === START_OF_IMAGE) return false
    else if (isStandalone(code)) at += 2
    else {
      if (at + 4 > content.length) return false
      const length = content.readUInt16BE(at + 2)
      if (length < 2) return false
      at += 2 + length
      if (code !== START_OF_SCAN) continue
      has_scan = true
      at = endOfScan(content, at)
    }
  }
  return false
}

/** The position of the first marker after the data of a scan. Zero bytes and restarts after 0xff are part of the data. */
function endOfScan(content: Buffer, from: number): number {
  for (let at = content.indexOf(MARKER, from); at >= 0; at = content.indexOf(MARKER, at + 1)) {
    const code = content[at + 1]
    if (code !== undefined && code !== 0 && !(code >= 0xd0 && code <= 0xd7)) return at
  }
  return content.length
}

const HEAD_BYTES = 12
const CHUNK_HEAD_BYTES = 8
const IMAGE_CHUNKS = ['VP8 ', 'VP8L', 'VP8X']

/** Whether bytes that begin as WebP are chunks of an image that end together with the container and the file. */
export function isWholeWebp(content: Buffer): boolean {
  if (content.length < HEAD_BYTES || content.readUInt32LE(4) + CHUNK_HEAD_BYTES !== content.length)
    return false
  let at = HEAD_BYTES
  while (at + CHUNK_HEAD_BYTES <= content.length) {
    const name = content.toString('latin1', at, at + 4)
    if (at === HEAD_BYTES && !IMAGE_CHUNKS.includes(name)) return false
    const length = content.readUInt32LE(at + 4)
    // A chunk of an odd length is followed by one byte.
    at += CHUNK_HEAD_BYTES + length + (length % 2)
  }
  return at === content.length && at > HEAD_BYTES
}
