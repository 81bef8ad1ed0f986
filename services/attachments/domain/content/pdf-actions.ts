import type { RejectionReason } from '#lib/contract/attachments.ts'
import { createSkip, NAME_END, namePattern, SPACE, valueAt, withoutTexts } from './pdf-syntax.ts'

/** What an object stream inflates to. It begins with the number and the place of each object; places count from `first`. */
export interface ObjectStream {
  readonly text: string
  /** This and the number of the objects are `undefined` when the dictionary does not say them itself. */
  readonly first: number | undefined
  readonly objects: number | undefined
}

interface Place {
  readonly text: string
  readonly at: number
}

/** The keys of actions that run without a click: when a file is opened, and when a page or a field is entered or left. */
const AUTOMATIC = new RegExp(`${namePattern('OpenAction')}|${namePattern('AA')}`, 'g')
const URI = new RegExp(namePattern('URI'))
/** A reference. The one of `/D` or `/SD` may be a destination: an array with a page, whose links need a click. */
const REFERENCE = new RegExp(`(/S?D${SPACE}+)?(?<![-+.\\w])(\\d+)${SPACE}+\\d+${SPACE}+R${NAME_END}`, 'g')
const DESTINATION = new RegExp(`/S?D${SPACE}*\\[[^[\\]<>]*\\]`, 'g')
const NAME = /\/[^\0\t\n\f\r ()<>[\]{}/%]*/g
/** A number in any spelling that some reader takes for an integer, such as `8.0` or `80e-1`. */
const NUMBER = /(?<![-+.\deE])[-+.\deE]+(?=[\0\t\n\f\r %])/g
const GENERATION = /[-+.\deE]+/y
const DIGITS = /^\d+$/
/** The numbers and places of its objects, with which an object stream begins. */
const STREAM_NUMBERS = /^[\0\t\n\f\r \d]*/
const PAIR = /(?<!\d)(\d+)[\0\t\n\f\r ]+(\d+)/g
/** More than any file has: the shortest objects and keys of 10 MiB could be millions. */
const STARTS_MAX = 100_000
const OBJECTS_MAX = 500_000

/**
 * Refuses a PDF that calls a URL without a click: an action that runs by itself has `/URI`, or leads to an object that has.
 * It follows references, and reads every definition of their objects. Each byte is read about once. A file that needs more, or
 * has a number that not every reader understands in the same way, is forged, and malformed.
 */
export function checkActions(text: string, streams: readonly ObjectStream[]): RejectionReason | undefined {
  const texts = [text, ...streams.map((stream) => stream.text)]
  const starts = texts.flatMap((one) =>
    Array.from(one.matchAll(AUTOMATIC), ({ 0: key, index }) => ({ text: one, at: index + key.length })),
  )
  if (starts.length === 0 || !texts.some((one) => URI.test(one))) return undefined
  if (starts.length > STARTS_MAX) return 'malformed'
  const objects = findObjects(text, streams)
  if (objects === undefined) return 'malformed'

  let left_bytes = 2 * texts.reduce((sum, { length }) => sum + length, 0)
  const seen = new Set<string>()
  const waiting = starts.map((start) => ({ ...start, can_be_destination: true }))
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, stop } = valueAt(next.text, next.at)
    left_bytes -= stop - next.at
    if (value === undefined || left_bytes < 0) return 'malformed'
    const plain = withoutTexts(value).trimStart()
    if (plain.startsWith('[') && next.can_be_destination) continue
    if (URI.test(value)) return 'active_content'
    const references = referencesIn(plain)
    if (references === undefined) return 'malformed'
    for (const [reference, d, number] of references) {
      // The object behind a value that is a reference alone is that value.
      const is_whole = reference === plain.trimEnd()
      const can_be_destination = d !== undefined || (is_whole && next.can_be_destination)
      if (seen.has(`${can_be_destination} ${number}`)) continue
      seen.add(`${can_be_destination} ${number}`)
      for (const place of objects.get(Number(number)) ?? []) waiting.push({ ...place, can_be_destination })
    }
  }
  return undefined
}

/** The references of a value without texts; `undefined` when one has a spelling that only some readers understand. */
function referencesIn(plain: string): readonly RegExpExecArray[] | undefined {
  const searched = plain.replace(DESTINATION, '')
  const references = [...searched.matchAll(REFERENCE)]
  const keywords = searched.replace(NAME, '/').split('R').length - 1
  return keywords === references.length ? references : undefined
}

/** Where the objects begin, by number; `undefined` when that is unclear. A later version of a file defines a number again. */
function findObjects(
  text: string,
  streams: readonly ObjectStream[],
): ReadonlyMap<number, readonly Place[]> | undefined {
  const objects = new Map<number, Place[]>()
  let left_objects = OBJECTS_MAX
  const add = (digits: string | undefined, place: Place): void => {
    left_objects -= 1
    const places = objects.get(Number(digits))
    if (places === undefined) objects.set(Number(digits), [place])
    else places.push(place)
  }
  const toGeneration = createSkip(text)
  const toKeyword = createSkip(text)
  // Only in a forged file do many comments end before the same long number.
  let left_bytes = 4 * text.length
  for (const { 0: digits, index } of text.matchAll(NUMBER)) {
    const generation_at = toGeneration(index + digits.length)
    GENERATION.lastIndex = generation_at
    if (left_bytes < 0 || left_objects < 0) return undefined
    if (!GENERATION.test(text)) continue
    left_bytes -= GENERATION.lastIndex - generation_at
    const at = toKeyword(GENERATION.lastIndex)
    if (!text.startsWith('obj', at)) continue
    if (!DIGITS.test(digits)) return undefined
    add(digits, { text, at: at + 'obj'.length })
  }
  for (const { text: inflated, first, objects: count } of streams) {
    if (first === undefined || count === undefined) return undefined
    // Readers read as many as there are objects, also behind `first`.
    const [numbers = ''] = STREAM_NUMBERS.exec(inflated) ?? []
    let found = 0
    for (const [, digits, offset] of numbers.matchAll(PAIR)) {
      add(digits, { text: inflated, at: first + Number(offset) })
      found += 1
      if (left_objects < 0) return undefined
    }
    if (found < count) return undefined
  }
  return left_objects < 0 ? undefined : objects
}
