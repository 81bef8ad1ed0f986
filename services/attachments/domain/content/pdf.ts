import { inflateSync } from 'node:zlib'
import type { RejectionReason } from '#lib/contract/attachments.ts'

/** The end of every PDF, after which only white space may follow. */
const END = /%%EOF[\0\t\n\f\r ]{0,16}$/
const END_WINDOW_BYTES = 64

/** White space of PDF. */
const SPACE = String.raw`[\0\t\n\f\r ]`
/** A name ends before white space or a delimiter. */
const NAME_END = String.raw`(?![^\0\t\n\f\r ()<>[\]{}/%])`
const REFERENCE = String.raw`\d{1,10}${SPACE}+\d{1,5}${SPACE}+R`

/** Names of objects that run code, start programs or contain other files. */
const ACTIVE = new RegExp(
  [
    ...['JavaScript', 'Launch', 'Rendition', 'ImportData', 'GoToE'],
    ...['EmbeddedFile', 'EmbeddedFiles', 'FileAttachment', 'RichMedia'],
  ]
    .map(namePattern)
    // A form of the XML Forms Architecture contains scripts of its own. Short names occur by chance in compressed data, so
    // the value must follow.
    .concat(`${namePattern('XFA')}${SPACE}*[[0-9]`, `${namePattern('EF')}${SPACE}*(?:<<|${REFERENCE})`)
    .join('|'),
)
const ENCRYPTED = new RegExp(namePattern('Encrypt'))
/** PDF readers take a stream with `/First` for an object stream, also without its type. An outline has a reference there. */
const OBJECT_STREAM = new RegExp(
  `${namePattern('ObjStm')}|${namePattern('First')}(?!${SPACE}+${REFERENCE})`,
  'g',
)

/** The longest dictionary of an object stream: writers make them of a few hundred bytes. */
const DICTIONARY_MAX_BYTES = 4_096
/** The dictionary, up to the bytes of the stream. Texts, comments and escaped names in it could hide what belongs to it. */
const DICTIONARY = new RegExp(`^obj${SPACE}*<<((?:(?!endobj)[^()%#])*?)>>${SPACE}*stream\\r?\\n`)
const FILTER_NAME = new RegExp(`/F(?:ilter)?${NAME_END}`, 'g')
const FLATE = new RegExp(
  `/Filter${SPACE}*(?:/FlateDecode|\\[${SPACE}*/FlateDecode${SPACE}*\\])${SPACE}*(?:/|$)`,
)
/** They rearrange the bytes, so names in them could not be seen. */
const PARAMETERS = new RegExp(`/(?:DecodeParms|DP)${NAME_END}`)
const OBJECT_STREAMS_MAX = 1_000
/** All compressed objects of one file. Decompressing them blocks the process, so there are not more. */
const OBJECTS_MAX_BYTES = 16 * 1024 * 1024

/**
 * Checks that a PDF ends where its file ends and has no active content, also in its object streams. One that is encrypted,
 * or whose object streams cannot be read within the limits, could hide some, and is malformed. It looks for names and is
 * not a PDF reader; each byte is read once, so the time is that of the file's length, whatever the bytes are.
 */
export function checkPdf(content: Buffer): RejectionReason | undefined {
  const text = content.toString('latin1')
  if (!END.test(text.slice(-END_WINDOW_BYTES)) || ENCRYPTED.test(text)) return 'malformed'
  return ACTIVE.test(text) ? 'active_content' : checkObjectStreams(content, text)
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

function checkObjectStreams(content: Buffer, text: string): RejectionReason | undefined {
  let left_bytes = OBJECTS_MAX_BYTES
  let streams = 0
  let begins_at = 0
  let ends_at = 0
  for (const { index } of text.matchAll(OBJECT_STREAM)) {
    // A second name in the dictionary of the stream that was read last.
    if (index < begins_at) continue
    streams += 1
    // Streams that overlap would make the work far longer than the file, and only a forged file has them.
    if (index < ends_at || streams > OBJECT_STREAMS_MAX) return 'malformed'
    const begin = text.lastIndexOf('obj', index)
    const [head, dictionary] = DICTIONARY.exec(text.slice(begin, index + DICTIONARY_MAX_BYTES)) ?? []
    if (head === undefined || dictionary === undefined || begin + head.length <= index) return 'malformed'
    begins_at = begin + head.length
    const filters = dictionary.match(FILTER_NAME)?.length ?? 0
    // Without a filter its objects are in the text of the file.
    if (filters === 0) continue
    if (filters > 1 || !FLATE.test(dictionary) || PARAMETERS.test(dictionary)) return 'malformed'
    const inflated = inflate(content.subarray(begins_at), left_bytes)
    if (inflated === undefined) return 'malformed'
    if (ACTIVE.test(inflated.objects.toString('latin1'))) return 'active_content'
    left_bytes -= inflated.objects.length
    ends_at = begins_at + inflated.read_bytes
  }
  return undefined
}

/** The objects of a stream, and how many of its bytes they took; `undefined` when they cannot be read within the limit. */
function inflate(
  stream: Buffer,
  max_bytes: number,
): { readonly objects: Buffer; readonly read_bytes: number } | undefined {
  try {
    // Bytes after the end of the compressed data are ignored, so the length of the stream need not be known.
    const options = { maxOutputLength: Math.max(1, max_bytes), info: true }
    const { buffer, engine } = inflateSync(stream, options) as unknown as InflateInfo
    return { objects: buffer, read_bytes: engine.bytesWritten }
  } catch {
    return undefined
  }
}

/** What `inflateSync` returns with the option `info`, which its types leave out. */
interface InflateInfo {
  readonly buffer: Buffer
  readonly engine: { readonly bytesWritten: number }
}
