import type { RejectionReason } from '#lib/contract/attachments.ts'
import { checkActions } from './pdf-actions.ts'
import { readObjectStreams } from './pdf-object-streams.ts'
import { namePattern, readDictionary, readObjects, SPACE } from './pdf-syntax.ts'

/** The end of every PDF, after which only white space may follow. */
const END = /%%EOF[\0\t\n\f\r ]{0,16}$/
const END_WINDOW_BYTES = 64

/** The beginning of a reference, whose numbers may have signs, fractions, and comments behind them. */
const REFERENCE = String.raw`[-+.\d]+(?:%|${SPACE}+[-+.\d%])`
/** One character of a comment, up to what can be the next name with such a value: so no byte is read often. */
const COMMENT_CHARACTER = String.raw`(?:(?!/[EFR#])[^\r\n])`
/** A comment before a value. A comment that is longer than in any real file counts too, because its end is not looked for. */
const COMMENT = `%(?:${COMMENT_CHARACTER}{0,1000}(?:/[EFR#]|[\\r\\n]${SPACE}*(?:<<|%|${REFERENCE}))|${COMMENT_CHARACTER}{1000})`

/** Names of objects that run code, start programs, contain other files, or reach outside: to files, URLs and media. */
const ACTIVE = new RegExp(
  [
    ...['JavaScript', 'Launch', 'Rendition', 'ImportData', 'GoToE'],
    ...['GoToR', 'Thread', 'SubmitForm', 'Movie', 'Sound'],
    ...['EmbeddedFile', 'EmbeddedFiles', 'FileAttachment', 'RichMedia', 'OnInstantiate'],
  ]
    .map(namePattern)
    // A form of the XML Forms Architecture contains scripts of its own. Short names occur by chance in compressed data, so
    // the value must follow.
    .concat(
      `${namePattern('XFA')}${SPACE}*[-+.\\d[%]`,
      // A page of another file, and files in this one.
      `(?:${namePattern('Ref')}|${namePattern('EF')})${SPACE}*(?:<<|${REFERENCE}|${COMMENT})`,
      `${namePattern('FS')}${SPACE}*(?:${namePattern('URL')}|${REFERENCE}|${COMMENT})`,
    )
    .join('|'),
)
const ENCRYPTED = new RegExp(namePattern('Encrypt'))

/** A key whose value can be a file. In annotations it has a number, and the resources of a page may have this name. */
const FILE = new RegExp(`${namePattern('F')}${SPACE}*(?:[(<%]|${REFERENCE})`, 'g')
/**
 * Data have such a key by chance: compressed ones about twice in 10 MiB, and ASCII85, which has 85 characters, 3 times in 85^3 bytes, which
 * is 51 times in 10 MiB. Most of these are read for some hundred bytes, up to a bracket that does not match; but a text or a comment
 * can be far longer. When the file would be read more than ten times, the keys that are left count as unclear, and none is read.
 */
const READS_MAX = 10

/**
 * Checks that a PDF ends where its file ends and has no active content, also in its object streams, and calls no URL by
 * itself. A PDF that is encrypted, or whose object streams cannot be read within the limits, could hide some, and is
 * malformed. The check looks for names and is not a PDF reader; it reads each byte about once, so its time depends on the
 * length of the file only, whatever the bytes are.
 */
export function checkPdf(content: Buffer): RejectionReason | undefined {
  const text = content.toString('latin1')
  if (!END.test(text.slice(-END_WINDOW_BYTES)) || ENCRYPTED.test(text)) return 'malformed'
  if (ACTIVE.test(text)) return 'active_content'
  const external = checkExternalStreams(text)
  if (external !== undefined) return external
  const streams = readObjectStreams(content, text, ACTIVE)
  return typeof streams === 'string' ? streams : checkActions(text, streams)
}

/** Refuses a stream whose bytes are in another file, such as one on another machine: its dictionary has the file under `/F`. */
function checkExternalStreams(text: string): RejectionReason | undefined {
  const unclear: number[] = []
  let left_bytes = READS_MAX * text.length
  for (const { index } of text.matchAll(FILE)) {
    if (left_bytes < 0) {
      unclear.push(index)
      continue
    }
    const { end, is_stream, stop } = readDictionary(text, index + 1, true)
    if (is_stream) return 'active_content'
    if (end === undefined) unclear.push(index)
    left_bytes -= stop - index
  }
  return areKeysOfNoStream(text, unclear) ? undefined : 'malformed'
}

/**
 * Whether none of these keys, from which no end of a dictionary was read, is in the dictionary of a stream. Compressed data have such
 * keys by chance. A key behind the dictionary of a stream is in its data, and one in another dictionary belongs to no stream. Where the
 * next `endstream` is says nothing: it can be in a text too.
 */
function areKeysOfNoStream(text: string, keys: readonly number[]): boolean {
  if (keys.length === 0) return true
  const objects = readObjects(text)
  if (objects === undefined) return false
  let next = 0
  return keys.every((key) => {
    while ((objects[next]?.begin ?? text.length) <= key) next += 1
    const object = objects[next - 1]
    return object !== undefined && key < object.end !== object.is_stream
  })
}
