import { inflateSync } from 'node:zlib'
import type { RejectionReason } from '#lib/contract/attachments.ts'
import type { ObjectStream } from './pdf-actions.ts'
import { NAME_END, namePattern, type PdfObject, readObjects, SPACE } from './pdf-syntax.ts'

/** PDF readers take a stream with `/First` for an object stream, also without its type. */
const OBJECT_STREAM = new RegExp(`${namePattern('ObjStm')}|${namePattern('First')}`, 'g')
/** An outline has `/First` too, with a reference. */
const OUTLINE = new RegExp(
  `${namePattern('First')}${SPACE}+\\d{1,10}${SPACE}+\\d{1,5}${SPACE}+R${NAME_END}`,
  'y',
)

/** A dictionary in which nothing is hidden: texts, comments, escaped names and other dictionaries could do so. */
const PLAIN_DICTIONARY = /^<<[^()%#<>]*>>$/
/** A stream has its first byte behind the end of the line. */
const STREAM = new RegExp(`${SPACE}*stream\\r?\\n`, 'y')
const FILTER_NAME = new RegExp(`/F(?:ilter)?${NAME_END}`, 'g')
const FLATE = new RegExp(
  `/Filter${SPACE}*(?:/FlateDecode|\\[${SPACE}*/FlateDecode${SPACE}*\\])${SPACE}*(?:/|>)`,
)
/** They rearrange the bytes, so names in them could not be seen. */
const PARAMETERS = new RegExp(`/(?:DecodeParms|DP)${NAME_END}`)
const NUMBER = new RegExp(`^${SPACE}*(\\d{1,10})${NAME_END}(?!${SPACE}+\\d)`)
const OBJECT_STREAMS_MAX = 1_000
/** All compressed objects of one file. */
const OBJECTS_MAX_BYTES = 16 * 1024 * 1024

/**
 * Reads the object streams of a PDF and checks their objects against `active`. A file is malformed when they cannot be read
 * within the limits, and when readers could disagree about which streams are object streams and how they are decoded.
 */
export function readObjectStreams(
  content: Buffer,
  text: string,
  active: RegExp,
): readonly ObjectStream[] | RejectionReason {
  const named = Array.from(text.matchAll(OBJECT_STREAM), ({ index }) => index)
  if (named.length === 0) return []
  const dictionaries = findObjectStreams(text, named)
  if (dictionaries === undefined || dictionaries.length > OBJECT_STREAMS_MAX) return 'malformed'
  if (!areOnlyIn(text, named, dictionaries)) return 'malformed'
  const streams: ObjectStream[] = []
  let left_bytes = OBJECTS_MAX_BYTES
  let ends_at = 0
  for (const { begin, end } of dictionaries) {
    // Streams that overlap would make the work far longer than the file, and only a forged file has them.
    if (begin < ends_at) return 'malformed'
    const dictionary = text.slice(begin, end)
    STREAM.lastIndex = end
    if (!PLAIN_DICTIONARY.test(dictionary) || !STREAM.test(text)) return 'malformed'
    const begins_at = STREAM.lastIndex
    const filters = dictionary.match(FILTER_NAME)?.length
    if (filters !== 1 || !FLATE.test(dictionary) || PARAMETERS.test(dictionary)) return 'malformed'
    const inflated = inflate(content.subarray(begins_at), left_bytes)
    if (inflated === undefined) return 'malformed'
    const objects = inflated.objects.toString('latin1')
    if (active.test(objects)) return 'active_content'
    streams.push({ text: objects, first: numberOf(dictionary, 'First'), objects: numberOf(dictionary, 'N') })
    left_bytes -= inflated.objects.length
    ends_at = begins_at + inflated.read_bytes
  }
  return streams
}

/** The number that a dictionary has under a key; `undefined` when it has several, another value, or says it elsewhere. */
function numberOf(dictionary: string, key: 'First' | 'N'): number | undefined {
  const [, value = '', ...others] = dictionary.split(new RegExp(`/${key}${NAME_END}`))
  const [, digits] = NUMBER.exec(value) ?? []
  return digits === undefined || others.length > 0 ? undefined : Number(digits)
}

/** The dictionaries of the streams that have one of the `named` positions in them; `undefined` when that is unclear. */
function findObjectStreams(text: string, named: readonly number[]): readonly PdfObject[] | undefined {
  let next_named = 0
  return readObjects(text)?.filter(({ begin, end, is_stream }) => {
    while ((named[next_named] ?? text.length) < begin) next_named += 1
    return is_stream && (named[next_named] ?? text.length) < end
  })
}

/** Whether each named position lies in one of the dictionaries, or belongs to an outline. */
function areOnlyIn(text: string, named: readonly number[], dictionaries: readonly PdfObject[]): boolean {
  let next = 0
  return named.every((index) => {
    while ((dictionaries[next]?.end ?? text.length) <= index) next += 1
    OUTLINE.lastIndex = index
    return (dictionaries[next]?.begin ?? text.length) < index || OUTLINE.test(text)
  })
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
