/** Parses a numeric id, which RPCs carry as digits; `undefined` for a text that cannot be one. */
export function parseNumericId(digits: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined
}
