/** Longer than any subject in use; NATS would allow more. */
const SUBJECT_MAX = 256

/** Of one message with its headers: what a NATS server takes unless it is told otherwise. */
const MESSAGE_MAX_BYTES = 1024 * 1024

/** Visible ASCII without the dot, the star and the greater-than sign. */
const TOKEN = /^[!-)+-\-/-=?-~]+$/
const HEADER_NAME = /^[a-z0-9-]{1,64}$/
const HEADER_VALUE = /^([!-~]([ -~]{0,1022}[!-~])?)?$/

/**
 * Throws a `TypeError` for a message that not every bus would carry unchanged: a subject with a wildcard, headers that
 * are not plain ASCII, more than 1 MiB. That is a mistake of the calling code, which no repeating cures.
 */
export function assertMessage(
  subject: string,
  data: Uint8Array,
  headers: Readonly<Record<string, string>>,
): void {
  if (!isSubject(subject)) throw new TypeError(`no subject to publish under: ${quote(subject)}`)
  let bytes = data.length
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) throw new TypeError(`no header: ${quote(name)}`)
    bytes += name.length + value.length + 16
  }
  if (bytes > MESSAGE_MAX_BYTES - 64)
    throw new TypeError(`${subject}: a message of ${bytes} bytes is too large`)
}

/** Throws a `TypeError` unless one can subscribe to `pattern`: a subject, tokens of which may be `*` and the last `>`. */
export function assertPattern(pattern: string): void {
  const plain = pattern.split('.').map((token, at, all) => {
    return token === '*' || (token === '>' && at === all.length - 1) ? 'x' : token
  })
  if (!isSubject(plain.join('.'))) throw new TypeError(`no subject to subscribe to: ${quote(pattern)}`)
}

/** Makes the test whether a subscription to `pattern` gets messages under a subject, given as its tokens. */
export function createSubjectMatcher(pattern: string): (tokens: readonly string[]) => boolean {
  const wanted = pattern.split('.')
  const open = wanted.at(-1) === '>'
  const named = open ? wanted.slice(0, -1) : wanted
  return (tokens) =>
    (open ? tokens.length > named.length : tokens.length === named.length) &&
    named.every((token, at) => token === '*' || token === tokens[at])
}

function isSubject(text: string): boolean {
  return text.length <= SUBJECT_MAX && text.split('.').every((token) => TOKEN.test(token))
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, SUBJECT_MAX))
}
