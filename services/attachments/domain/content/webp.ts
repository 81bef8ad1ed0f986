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
