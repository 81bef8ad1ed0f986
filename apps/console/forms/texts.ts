import { create, type DescField, type Message, ScalarType } from '@bufbuild/protobuf'
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { MoneySchema } from '#gen/multihub/common/v1/money_pb.ts'
import { readAmount } from '#lib/contract/amount-input.ts'
import { formatDecimal } from '#lib/contract/decimal-amount.ts'
import { numberOf, wordOf } from '../values/filter-tokens.ts'

/** How a field is written. What it is in the request follows from the descriptor. */
export type FieldKind =
  | 'text'
  | 'lines'
  | 'number'
  | 'amount'
  | 'duration'
  | 'list'
  | 'pairs'
  | 'choice'
  | 'checks'
  | 'time'
  | 'file'

const UNIT_SECONDS = { d: 86_400, h: 3_600, min: 60, s: 1 } as const

/** The text of a value as a form shows it. Empty for what is not set: 0 is "no limit" in every form. */
export function textOf(
  kind: FieldKind,
  value: unknown,
  field: DescField | undefined,
  currency: string,
): string {
  switch (kind) {
    case 'amount': {
      const minor = typeof value === 'bigint' ? value : (value as { readonly minor: bigint }).minor
      return minor === 0n ? '' : formatDecimal({ minor, currency })
    }
    case 'duration':
      return durationWords(Number(value))
    case 'pairs':
      return Object.entries(value as object)
        .map(([name, number]) => `${name} = ${number}`)
        .join('\n')
    case 'list':
    case 'checks':
      return (value as readonly unknown[]).map((item) => itemText(item, field)).join('\n')
    case 'time':
      return localTime(timestampDate(value as Timestamp))
    case 'number':
      return String(value) === '0' ? '' : String(value)
    default:
      return itemText(value, field)
  }
}

function itemText(value: unknown, field: DescField | undefined): string {
  return field?.enum == null ? String(value) : wordOf(field.enum, value)
}

function durationWords(seconds: number): string {
  if (seconds === 0) return ''
  const [unit = 's', size = 1] =
    Object.entries(UNIT_SECONDS).find(([, unit_seconds]) => seconds % unit_seconds === 0) ?? []
  return `${seconds / size} ${unit}`
}

/** A time as the field of a browser has it: in the zone of this machine, to the minute. */
function localTime(date: Date): string {
  const two = (number: number): string => String(number).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`
}

/** The items of a list that a person has written, on lines or by commas. */
export function itemsOf(text: string): readonly string[] {
  return text
    .split(/[\n,]+/)
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** Reads the text of a form as the value of a field. Throws an `Error` with a sentence for what it cannot be. */
export function readText(kind: FieldKind, text: string, field: DescField, currency: string): unknown {
  switch (kind) {
    case 'amount':
      return amountOf(text, field, currency)
    case 'duration':
      return secondsOf(text)
    case 'number':
      return numberIn(text.trim() === '' ? '0' : text.trim(), field)
    case 'pairs':
      return pairsOf(text)
    case 'list':
    case 'checks':
      return itemsOf(text).map((item) => itemOf(item, field))
    case 'time':
      return timestampFromDate(new Date(text))
    case 'lines':
      return text.trimEnd()
    default:
      return itemOf(text.trim(), field)
  }
}

function itemOf(text: string, field: DescField): unknown {
  if (field.enum != null) return numberOf(field.enum, text)
  if (field.scalar === ScalarType.BOOL) return text === 'yes'
  if (field.scalar === ScalarType.STRING) return text
  return numberIn(text, field)
}

function numberIn(text: string, field: DescField): unknown {
  if (!/^\d{1,18}$/.test(text)) throw new Error(`${text} is not a whole number`)
  if (field.scalar !== ScalarType.INT64) return Number(text)
  return 'longAsString' in field && field.longAsString ? text : BigInt(text)
}

function amountOf(text: string, field: DescField, currency: string): bigint | Message {
  const minor = readAmount(text, currency)
  return field.message === undefined ? minor : create(MoneySchema, { minor, currency })
}

function secondsOf(text: string): number {
  const [, count, unit = 's'] =
    /^(\d{1,7})\s*(d|h|min|s)?$/.exec(text.trim() === '' ? '0' : text.trim()) ?? []
  if (count === undefined) throw new Error(`${text} is not a time such as 30 s, 15 min, 24 h or 7 d`)
  return Number(count) * UNIT_SECONDS[unit as keyof typeof UNIT_SECONDS]
}

function pairsOf(text: string): Readonly<Record<string, number>> {
  const pairs = itemsOf(text).map((line) => /^([\w.]+)\s*[=:]\s*(\d{1,9})$/.exec(line) ?? [line])
  const [wrong] = pairs.find(([, name]) => name === undefined) ?? []
  if (wrong !== undefined) throw new Error(`${wrong} is not a name and a number, such as payment.in = 100`)
  return Object.fromEntries(pairs.map(([, name, number]) => [name, Number(number)]))
}
