import { inflateSync } from 'node:zlib'
import type { RejectionReason } from '#lib/contract/attachments.ts'

/** The end of every PDF, after which only white space may follow. */
const END = /%%EOF[\0\t\n\f\r ]{0,16}$/
const END_WINDOW_BYTES = 64

/** A name ends before white space or a delimiter. */
const NAME_END = String.raw`(?![^\0\t\n\f\r ()<>[\]{}/%])`

/** Names of objects that run code, start programs or contain other files. */
const ACTIVE = new RegExp(
  ['JavaScript', 'Launch', 'EmbeddedFile', 'EmbeddedFiles', 'RichMedia', 'ImportData', 'GoToE']
    .map(namePattern)
    // A form of the XML Forms Architecture contains scripts of its own. Its name is short, so its value must follow.
    .concat(`${namePattern('XFA')}\\s*[[0-9]`)
    .join('|'),
)
const ENCRYPTED = new RegExp(namePattern('Encrypt'))
const OBJECT_STREAM = new RegExp(namePattern('ObjStm'), 'g')
const PREDICTOR = new RegExp(namePattern('Predictor'))

/** The longest dictionary of an object stream: writers make them of a few hundred bytes. */
const DICTIONARY_MAX_BYTES = 4_096
const STREAM = /stream\r?\n/
const OBJECT_STREAMS_MAX = 10_000
/** All compressed objects of one file. Decompressing them blocks the process, so there are not more. */
const OBJECTS_MAX_BYTES = 16 * 1024 * 1024

/**
 * Checks that a PDF ends where its file ends and has no active content, also in its compressed objects. One that is
 * encrypted, or whose compressed objects cannot be read within the limits, could hide some, and is malformed.
 */
export function checkPdf(content: Buffer): RejectionReason | undefined {
  const text = content.toString('latin1')
  if (!END.test(text.slice(-END_WINDOW_BYTES)) || ENCRYPTED.test(text)) return 'malformed'
  if (ACTIVE.test(text)) return 'active_content'
  const objects = compressedObjects(content, text)
  if (objects === undefined) return 'malformed'
  return objects.some((part) => ACTIVE.test(part.toString('latin1'))) ? 'active_content' : undefined
}

/** A name in all its spellings: each character may be written as a hexadecimal escape, as in `/J#61vaScript`. */
function namePattern(name: string): string {
  const characters = [...name].map((character) => {
    const hex = character.charCodeAt(0).toString(16)
    const either_case = hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
    return `(?:${character}|#${either_case})`
  })
  return `/${characters.join('')}${NAME_END}`
}

/** The content of all object streams; `undefined` when one of them cannot be decompressed within the limits. */
function compressedObjects(content: Buffer, text: string): readonly Buffer[] | undefined {
  const parts: Buffer[] = []
  let left_bytes = OBJECTS_MAX_BYTES
  for (const { index } of text.matchAll(OBJECT_STREAM)) {
    if (parts.length >= OBJECT_STREAMS_MAX) return undefined
    const begin = text.lastIndexOf('obj', index)
    const stream = STREAM.exec(text.slice(index, index + DICTIONARY_MAX_BYTES))
    if (stream === null || index - begin > DICTIONARY_MAX_BYTES) return undefined
    const from = index + stream.index + stream[0].length
    // A predictor rearranges the bytes, so names in them could not be seen.
    if (PREDICTOR.test(text.slice(begin, from))) return undefined
    const part = decompress(content.subarray(from), left_bytes)
    if (part === undefined) return undefined
    left_bytes -= part.length
    parts.push(part)
  }
  return parts
}

function decompress(stream: Buffer, max_bytes: number): Buffer | undefined {
  try {
    // Bytes after the end of the compressed data are ignored, so the length of the stream need not be known.
    return inflateSync(stream, { maxOutputLength: Math.max(1, max_bytes) })
  } catch {
    return undefined
  }
}
