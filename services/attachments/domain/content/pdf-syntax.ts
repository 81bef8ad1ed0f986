/** White space of PDF. */
export const SPACE: string = String.raw`[\0\t\n\f\r ]`
/** A name ends before white space or a delimiter. */
export const NAME_END: string = String.raw`(?![^\0\t\n\f\r ()<>[\]{}/%])`

/** What begins or ends a dictionary, an array, a comment or a string. */
const MARK = /<<|>>|[<[\]%(]/g
/** How deep dictionaries and arrays can be in each other: far more than in any file that a program has written. */
const DEPTH_MAX = 200

/** A name in all its spellings: each character may be written as a hexadecimal escape, as in `/J#61vaScript`. */
export function namePattern(name: string): string {
  const characters = [...name].map((character) => {
    const hex = character.charCodeAt(0).toString(16)
    const either_case = hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
    return `(?:${character}|#${either_case})`
  })
  return `/${characters.join('')}${NAME_END}`
}

/** Where the next token begins, behind white space and comments. */
export function skipSpace(text: string, from: number): number {
  let at = skipWhiteSpace(text, from)
  while (text[at] === '%') at = skipWhiteSpace(text, endOfComment(text, at))
  return at
}

/**
 * Creates a `skipSpace` for calls in the order of their places, which reads each comment once: a call that begins within the comments
 * that the last one skipped ends where that one did. A file can have its images as text on one line, where each `%` begins a comment.
 */
export function createSkip(text: string): (from: number) => number {
  let skipped = { from: 0, to: 0 }
  return (from) => {
    const at = skipWhiteSpace(text, from)
    if (text[at] !== '%') return at
    if (at < skipped.from || at >= skipped.to) skipped = { from: at, to: skipSpace(text, at) }
    return skipped.to
  }
}

function skipWhiteSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && '\0\t\n\f\r '.includes(text.charAt(at))) at += 1
  return at
}

/** A dictionary or an array that was read, whether or not its end is clear. */
export interface ReadDictionary {
  /** `undefined` when it has no end or is too deep, and when its brackets do not match: readers then differ in what belongs to it. */
  readonly end: number | undefined
  readonly is_stream: boolean
  /** Where the reading stopped, in any case: the work. It can be behind the end, because a comment can be before the stream. */
  readonly stop: number
}

/** Reads the dictionary or array that begins at `from`, or within which `from` is (`is_open`). */
export function readDictionary(text: string, from: number, is_open = false): ReadDictionary {
  const open = is_open ? ['<<'] : []
  let at = from
  for (;;) {
    MARK.lastIndex = at
    const mark = MARK.exec(text)
    if (mark === null) return unclearAt(text.length)
    const [token] = mark
    at = endOfToken(text, mark.index, token)
    if ((token === '<<' || token === '[') && open.push(token) > DEPTH_MAX) return unclearAt(at)
    if (token === ']' && open.pop() !== '[') return unclearAt(at)
    if (token === ']' && open.length === 0) return { end: at, is_stream: false, stop: at }
    if (token === '>>') {
      if (open.pop() !== '<<') return unclearAt(at)
      const stop = skipSpace(text, at)
      const is_stream = text.startsWith('stream', stop)
      if (open.length === 0) return { end: at, is_stream, stop }
      // Some readers skip a bracket that is out of place. For them this is the end of the outer dictionary.
      if (is_stream) return unclearAt(stop)
    }
  }
}

function unclearAt(stop: number): ReadDictionary {
  return { end: undefined, is_stream: false, stop }
}

/** The keyword that begins an object, or ends one. */
const OBJECT = /obj(?=[\0\t\n\f\r ()<>[\]{}/%])/g
/**
 * The keyword behind a number that is behind white space or a comment, or behind those. Compressed data have the keyword by chance, but
 * hardly with this too. A digit alone would not do: of files with 8 MB of ASCII85, 15% have one before the keyword.
 */
const NUMBERED_OBJECT = /(?<=[\0\t\n\f\r ][-+.\deE]*)obj/y

/** An object as far as it is a dictionary. One of another kind has no length. */
export interface PdfObject {
  readonly begin: number
  readonly end: number
  readonly is_stream: boolean
}

/**
 * The objects in their order. A reader can begin at any object, so each dictionary must end before the next object: then no reader
 * finds more in it. Returns `undefined` otherwise.
 */
export function readObjects(text: string): readonly PdfObject[] | undefined {
  const found: PdfObject[] = []
  let previous_end = 0
  // Each byte is read about once. Only in a forged file are other objects, again and again, in the comments behind objects.
  let left_bytes = 2 * text.length
  for (const { index } of text.matchAll(OBJECT)) {
    const begin = skipSpace(text, index + 'obj'.length)
    left_bytes -= begin - index
    if (left_bytes < 0) return undefined
    if (text.startsWith('<<', begin)) {
      if (index < previous_end) return undefined
      const { end, is_stream, stop } = readDictionary(text, begin)
      if (end === undefined) return undefined
      previous_end = end
      left_bytes -= stop - begin
      found.push({ begin, end, is_stream })
      continue
    }
    NUMBERED_OBJECT.lastIndex = index
    if (NUMBERED_OBJECT.test(text)) found.push({ begin, end: begin, is_stream: false })
  }
  return found
}

const TOKEN = /[-+.\w]*/y

/**
 * The value behind a key, with the space before it: a dictionary, an array, or three words, such as a reference. It is `undefined` when
 * its end is unclear. `stop` is where the reading stopped.
 */
export function valueAt(
  text: string,
  from: number,
): { readonly value: string | undefined; readonly stop: number } {
  let end = skipSpace(text, from)
  if (text.startsWith('<<', end) || text[end] === '[') {
    const dictionary = readDictionary(text, end)
    const value = dictionary.end === undefined ? undefined : text.slice(from, dictionary.end)
    return { value, stop: dictionary.stop }
  }
  for (let token = 0; token < 3; token += 1) {
    TOKEN.lastIndex = end
    TOKEN.test(text)
    end = skipSpace(text, TOKEN.lastIndex)
  }
  return { value: text.slice(from, end), stop: end }
}

/** A value without its comments and texts, so that only names, numbers, keywords and brackets are left. */
export function withoutTexts(value: string): string {
  const hidden = /<<|[<%(]/g
  let result = ''
  let at = 0
  for (let mark = hidden.exec(value); mark !== null; mark = hidden.exec(value)) {
    if (mark[0] === '<<') continue
    result += `${value.slice(at, mark.index)} `
    at = endOfToken(value, mark.index, mark[0])
    hidden.lastIndex = at
  }
  return result + value.slice(at)
}

function endOfToken(text: string, at: number, token: string): number {
  if (token === '%') return endOfComment(text, at)
  if (token === '(') return endOfString(text, at)
  if (token !== '<') return at + token.length
  const end = text.indexOf('>', at)
  return end === -1 ? text.length : end + 1
}

function endOfComment(text: string, from: number): number {
  let at = from
  while (at < text.length && text[at] !== '\r' && text[at] !== '\n') at += 1
  return at
}

/** A string may have strings of balanced parentheses in it; a backslash takes the meaning from the next character. */
function endOfString(text: string, from: number): number {
  let depth = 0
  let at = from
  do {
    const character = text[at]
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    at += character === '\\' ? 2 : 1
  } while (depth > 0 && at < text.length)
  return at
}
