/** A copy of a stored value that shares nothing with it, and an estimate of its stored size in bytes. */
export interface CopiedDocument<D> {
  readonly document: D
  readonly size_bytes: number
}

/** Copies a document as a store does that encodes and decodes it. It must have passed `checkDocument`. */
export function copyDocument<D extends object>(document: D): CopiedDocument<D> {
  const size = { bytes: 0 }
  // A copy of a `D` has its type.
  return { document: copyValue(document, size) as D, size_bytes: size.bytes }
}

interface Size {
  bytes: number
}

function copyValue(value: unknown, size: Size): unknown {
  if (typeof value === 'string') {
    size.bytes += value.length + 5
    return value
  }
  size.bytes += 9
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return new Date(value.getTime())
  if (value instanceof Uint8Array) {
    size.bytes += value.length
    return Buffer.from(value)
  }
  if (Array.isArray(value)) return value.map((element) => copyValue(element, size))
  const copy: Record<string, unknown> = {}
  for (const name in value) {
    size.bytes += name.length + 2
    copy[name] = copyValue((value as Record<string, unknown>)[name], size)
  }
  return copy
}
