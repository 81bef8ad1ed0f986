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
