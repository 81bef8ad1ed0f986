declare global {
  interface JSON {
    /** A value that `JSON.stringify` writes as this text. */
    rawJSON(text: string): object
  }
}

/**
 * A 64-bit integer that `JSON.stringify` writes with all its digits. A balance is the sum of many amounts and can
 * exceed what a double holds; rounding it in our own answer would be wrong even if a client then rounds it too.
 */
export function exactNumber(value: bigint): number | object {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(value.toString())
}
