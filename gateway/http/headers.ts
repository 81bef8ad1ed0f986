/**
 * The value of a header that must be sent exactly once (A4); `undefined` when it is missing or repeated. Reads the raw
 * header list, because Node joins repeated headers or drops all but one. `name` must be lower case.
 */
export function singleHeader(raw_headers: readonly string[], name: string): string | undefined {
  let value: string | undefined
  for (let index = 0; index < raw_headers.length; index += 2) {
    if (!hasName(raw_headers[index], name)) continue
    if (value !== undefined) return undefined
    value = raw_headers[index + 1]
  }
  return value
}

/** Whether a header was sent at least once. `name` must be lower case. */
export function hasHeader(raw_headers: readonly string[], name: string): boolean {
  for (let index = 0; index < raw_headers.length; index += 2) {
    if (hasName(raw_headers[index], name)) return true
  }
  return false
}

/** Compares lengths first, which spares most headers the conversion to lower case. */
function hasName(header: string | undefined, name: string): boolean {
  return header !== undefined && header.length === name.length && header.toLowerCase() === name
}
