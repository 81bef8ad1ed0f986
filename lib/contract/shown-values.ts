import type { DescField, Message } from '@bufbuild/protobuf'
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { cleanText } from './clean-text.ts'
import { exponentOf, formatDecimal } from './decimal-amount.ts'

/** How values are shown. */
export interface ValueForm {
  readonly is_minor: boolean
}

/** An amount in major units with its currency, such as `-123.00 INR`; `12300 INR` with `--minor`. */
export function amountText(minor: bigint, currency: string, { is_minor }: ValueForm): string {
  if (is_minor || exponentOf(currency) === undefined) return `${minor} ${currency}`.trim()
  const sign = minor < 0n ? '-' : ''
  return `${sign}${grouped(formatDecimal({ minor: minor < 0n ? -minor : minor, currency }))} ${currency}`
}

function grouped(decimal: string): string {
  const [whole = '', fraction] = decimal.split('.')
  const with_commas = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? with_commas : `${with_commas}.${fraction}`
}

/** An instant in UTC, to the second. */
export function timeText(time: Timestamp): string {
  return timestampDate(time)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, '')
}

/** The value of a field as people read it. Parts of a message are joined; an absent value is empty. */
export function valueText(field: DescField, value: unknown, form: ValueForm): string {
  if (value === undefined) return ''
  if (field.fieldKind === 'list')
    return (value as readonly unknown[]).map((item) => itemText(field, item, form)).join(', ')
  if (field.fieldKind === 'map')
    return Object.entries(value as object)
      .map(([key, item]) => `${cleanText(key)}=${cleanText(String(item))}`)
      .join(', ')
  return itemText(field, value, form)
}

function itemText(field: DescField, value: unknown, form: ValueForm): string {
  if (field.fieldKind !== 'map' && field.enum !== undefined) {
    const { values, sharedPrefix = '' } = field.enum
    const name = values.find(({ number }) => number === value)?.name
    return value === 0 ? '' : (name?.slice(sharedPrefix.length).toLowerCase() ?? String(value))
  }
  if (field.fieldKind !== 'map' && field.message !== undefined)
    return messageText(value as Message, field, form)
  if (value instanceof Uint8Array) return bytesText(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number' && /(?:^|_)code$/.test(field.name)) return value === 0 ? '' : String(value)
  if (typeof value === 'number' && field.name === 'duration_ms') return String(Math.round(value))
  return cleanText(String(value))
}

/** Bytes that are text are shown as text, on one line; others by their number. */
function bytesText(bytes: Uint8Array): string {
  try {
    return cleanText(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return `${bytes.length} bytes that are not text`
  }
}

function messageText(message: Message, field: DescField, form: ValueForm): string {
  switch (message.$typeName) {
    case 'google.protobuf.Timestamp':
      return timeText(message as Timestamp)
    case 'multihub.common.v1.Money': {
      const { minor, currency } = message as Message & { readonly minor: bigint; readonly currency: string }
      return amountText(minor, currency, form)
    }
    default: {
      const parts = field.message?.fields ?? []
      return parts
        .map((part) => [part.name, valueText(part, fieldValue(message, part), form)])
        .filter(([, text]) => text !== '')
        .map(([name, text]) => `${name}=${text}`)
        .join(' ')
    }
  }
}

/** The value of a field of a message, also in a oneof. `undefined` when it is absent. */
export function fieldValue(message: Message, { localName, oneof }: DescField): unknown {
  if (oneof === undefined) return Reflect.get(message, localName)
  const chosen: { readonly case?: string; readonly value?: unknown } = Reflect.get(message, oneof.localName)
  return chosen.case === localName ? chosen.value : undefined
}

/** A duration as people read it: `33 ms`, `1.2 s`. */
export function durationText(duration_ms: number): string {
  if (duration_ms < 1_000) return `${duration_ms} ms`
  return `${(duration_ms / 1_000).toFixed(duration_ms < 10_000 ? 2 : 1)} s`
}

/** A long time in its two largest units, such as `2 h` or `1 d 4 h`. */
export function spanText(span_ms: number): string {
  const minutes = Math.floor(span_ms / 60_000)
  if (minutes < 1) return `${Math.floor(span_ms / 1_000)} s`
  const hours = Math.floor(minutes / 60)
  if (hours < 1) return `${minutes} min`
  const days = Math.floor(hours / 24)
  return days < 1 ? `${hours} h` : `${days} d${hours % 24 === 0 ? '' : ` ${hours % 24} h`}`
}
