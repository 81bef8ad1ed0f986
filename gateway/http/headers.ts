/**
 * The value of a header that must come exactly once (A4); `undefined` when it is missing or repeated. Reads the raw
 * list, because Node joins repeated headers or drops all but one of them. `name` is lower case.
 */
export function singleHeader(raw_headers: readonly string[], name: string): string | undefined {
  let value: string | undefined
  for (let at = 0; at < raw_headers.length; at += 2) {
    if (!isNamed(raw_headers[at], name)) continue
    if (value !== undefined) return undefined
    value = raw_headers[at + 1]
  }
  return value
}

/** Whether a header was sent at all, however often. `name` is lower case. */
export function hasHeader(raw_headers: readonly string[], name: string): boolean {
  for (let at = 0; at < raw_headers.length; at += 2) if (isNamed(raw_headers[at], name)) return true
  return false
}

/** Lengths are compared first: that spares most headers the change to lower case. */
function isNamed(header: string | undefined, name: string): boolean {
  return header !== undefined && header.length === name.length && header.toLowerCase() === name
}
