/** No subject in use is as long; NATS itself permits more. */
const SUBJECT_MAX = 256

/** The limit for a message with its headers: the default of a NATS server. */
const MESSAGE_MAX_BYTES = 1024 * 1024

/** Visible ASCII without the dot, the star and the greater-than sign. */
const TOKEN = /^[!-)+-\-/-=?-~]+$/
const HEADER_NAME = /^[a-z0-9-]{1,64}$/
const HEADER_VALUE = /^([!-~]([ -~]{0,1022}[!-~])?)?$/

/**
 * Throws a `TypeError` for a message that some bus could not carry unchanged: a subject with a wildcard, headers that are
 * not plain ASCII, or more than 1 MiB. That is a bug of the caller, so a retry does not help.
 */
export function assertMessage(
  subject: string,
  data: Uint8Array,
  headers: Readonly<Record<string, string>>,
): void {
  if (!isSubject(subject)) throw new TypeError(`invalid subject to publish: ${quote(subject)}`)
  let bytes = data.length
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value))
      throw new TypeError(`invalid header: ${quote(name)}`)
    bytes += name.length + value.length + 16
  }
  if (bytes > MESSAGE_MAX_BYTES - 64)
    throw new TypeError(`${subject}: a message of ${bytes} bytes is too large`)
}

/** Throws a `TypeError` unless `pattern` is a subject whose tokens may be `*`, and whose last token may be `>`. */
export function assertPattern(pattern: string): void {
  const plain = pattern.split('.').map((token, at, all) => {
    return token === '*' || (token === '>' && at === all.length - 1) ? 'x' : token
  })
  if (!isSubject(plain.join('.'))) throw new TypeError(`invalid subject to subscribe to: ${quote(pattern)}`)
}

/** Makes a predicate: whether a subscription to `pattern` gets the messages of a subject, given as its tokens. */
export function createSubjectMatcher(pattern: string): (tokens: readonly string[]) => boolean {
  const tokens_of_pattern = pattern.split('.')
  const is_open = tokens_of_pattern.at(-1) === '>'
  const fixed = is_open ? tokens_of_pattern.slice(0, -1) : tokens_of_pattern
  return (tokens) =>
    (is_open ? tokens.length > fixed.length : tokens.length === fixed.length) &&
    fixed.every((token, at) => token === '*' || token === tokens[at])
}

function isSubject(text: string): boolean {
  return text.length <= SUBJECT_MAX && text.split('.').every((token) => TOKEN.test(token))
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, SUBJECT_MAX))
}
