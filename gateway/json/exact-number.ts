declare global {
  interface JSON {
    /** A value that `JSON.stringify` writes as this text. */
    rawJSON(text: string): object
  }
}

/**
 * Returns a 64-bit integer in a form that `JSON.stringify` writes with all its digits. A balance is the sum of many
 * amounts and can exceed what a double holds exactly. Our response must be right even if a client then rounds it.
 */
export function exactNumber(value: bigint): number | object {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(value.toString())
}
