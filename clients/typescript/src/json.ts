import { MONEY_FIELDS } from './gen/tables.ts'

/** A text, and where it is a key the integer after it. Texts are matched whole, so nothing inside one is taken for a key. */
const TEXT_OR_AMOUNT = /("(?:[^"\\]|\\.)*")(?:(\s*:\s*)(-?\d+)(?=\s*[,}]))?/g
const MARK = '\0'
const MONEY: ReadonlySet<string> = new Set(MONEY_FIELDS)

/** Parses JSON. Amounts become bigint, because they can exceed what a number holds exactly. Throws `SyntaxError`. */
export function parseJson(text: string): unknown {
  const marked = text.replace(TEXT_OR_AMOUNT, (all, key: string, colon?: string, digits?: string) =>
    colon !== undefined && MONEY.has(key.slice(1, -1)) ? `${key}${colon}"\\u0000${digits}"` : all,
  )
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? BigInt(value.slice(1)) : value,
  )
}

/** Writes JSON with bigint amounts as plain digits. Throws `RangeError` for an amount that is not a whole number up to 2^53-1. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    const is_amount = typeof inner === 'bigint' || (typeof inner === 'number' && MONEY.has(key))
    if (!is_amount) return inner
    const number = Number(inner)
    if (!Number.isSafeInteger(number)) throw new RangeError(`${key} is not a whole number up to 2^53-1`)
    return number
  })
}
