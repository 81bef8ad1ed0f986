import { crc32, deflateSync } from 'node:zlib'

/** Parts of a file: text as latin1, or bytes. */
export const bytesOf = (...parts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)))

const u16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}
const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const u32le = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

/** A chunk of a PNG. */
export function pngChunk(name: string, content: Buffer): Buffer {
  const named = bytesOf(name, content)
  return bytesOf(u32(content.length), named, u32(crc32(named)))
}

/** A PNG of one pixel, with any chunks before its end. */
export function png(...more: readonly Buffer[]): Buffer {
  const head = bytesOf(u32(1), u32(1), Buffer.from([8, 0, 0, 0, 0]))
  const pixels = deflateSync(Buffer.from([0, 0]))
  const chunks = [
    pngChunk('IHDR', head),
    pngChunk('IDAT', pixels),
    ...more,
    pngChunk('IEND', Buffer.alloc(0)),
  ]
  return bytesOf('\x89PNG\r\n\x1a\n', ...chunks)
}

/** A segment of a JPEG. */
export function jpegSegment(marker: number, content: Buffer): Buffer {
  return bytesOf(Buffer.from([0xff, marker]), u16(content.length + 2), content)
}

/** A JPEG with stuffed bytes and a restart marker in its scan, and any segments before that. */
export function jpeg(...more: readonly Buffer[]): Buffer {
  const scan = bytesOf(jpegSegment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])), '\x12\xff\x00\x34\xff\xd0\x56')
  return bytesOf('\xff\xd8', jpegSegment(0xe0, Buffer.from('JFIF\0')), ...more, scan, '\xff\xd9')
}

/** A WebP with chunks; the first one is the image. */
export function webp(...more: readonly Buffer[]): Buffer {
  const chunks = bytesOf(webpChunk('VP8L', Buffer.from([0x2f, 0, 0, 0, 0])), ...more)
  return bytesOf('RIFF', u32le(chunks.length + 4), 'WEBP', chunks)
}

/** A chunk of a WebP. */
export function webpChunk(name: string, content: Buffer): Buffer {
  return bytesOf(name, u32le(content.length), content, Buffer.alloc(content.length % 2))
}

/** A PDF with objects. */
export function pdf(...objects: readonly (string | Buffer)[]): Buffer {
  const numbered = objects.map((object, at) => bytesOf(`${at + 2} 0 obj\n`, object, '\nendobj\n'))
  return bytesOf(
    '%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 9 0 R>>\nendobj\n',
    ...numbered,
    'startxref\n0\n%%EOF\n',
  )
}

const OBJECT_STREAM = '/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode'

/** A compressed stream of objects, as the content of one object of a PDF. */
export function objectStream(objects: string, dictionary: string = OBJECT_STREAM): Buffer {
  return objectStreamOf(deflateSync(Buffer.from(objects)), dictionary)
}

/** The same of bytes that are compressed already. */
export function objectStreamOf(content: Buffer, dictionary: string = OBJECT_STREAM): Buffer {
  return bytesOf(`<<${dictionary} /Length ${content.length}>>\nstream\n`, content, '\nendstream')
}

/** The end record of a zip archive, with a comment. */
export function zipEnd(comment: Buffer = Buffer.alloc(0), announced = comment.length): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16LE(announced)
  return bytesOf('PK\x05\x06', Buffer.alloc(16), length, comment)
}

/** The test file of all virus scanners. It is put together here, so that no scanner takes this file for it. */
export const EICAR: Buffer = Buffer.from(
  ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE', '!$H+H*'].join(''),
)
