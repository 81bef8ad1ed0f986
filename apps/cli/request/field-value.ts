import { readFileSync } from 'node:fs'
import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf'
import { type Timestamp, timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type Money, MoneySchema } from '#gen/multihub/common/v1/money_pb.ts'
import { clock } from '#lib/base/time.ts'
import { readAmount } from '#lib/contract/amount-input.ts'
import { CommandError } from '../terminal.ts'

/** How amounts of a command are written: in minor units, or as decimals in a currency given once for the command. */
export interface AmountForm {
  readonly is_minor: boolean
  readonly currency: string | undefined
}

/** The short names of an enum, such as `test` for `ENVIRONMENT_TEST`; the value that means nothing is left out. */
export function enumNames({ values, sharedPrefix = '' }: DescEnum): ReadonlyMap<string, number> {
  return new Map(
    values
      .filter(({ number }) => number !== 0)
      .map(({ name, number }) => [name.slice(sharedPrefix.length).toLowerCase(), number]),
  )
}

/** What a flag takes, for its line of the help; empty for a flag without a value. */
export function valueShown(field: DescField): string {
  if (field.fieldKind === 'list') return `<${itemShown(field)},...>`
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.BOOL) return '[true|false]'
  return `<${itemShown(field)}>`
}

function itemShown(field: DescField): string {
  if (isAmount(field)) return 'amount'
  if (isOfMessage(field, 'google.protobuf.Timestamp')) return 'time'
  const inside = listInside(field)
  if (inside?.fieldKind === 'list') return 'text,...'
  if (field.fieldKind === 'map' || inside !== undefined) return 'name=value,...'
  if (field.message !== undefined)
    return field.fieldKind === 'list'
      ? 'json'
      : `${field.message.fields[0]?.name ?? 'name'}=${hasAmounts(field) ? 'amount' : 'value'},...`
  if (field.enum !== undefined) return 'name'
  if (field.scalar === ScalarType.BYTES) return 'file'
  return field.scalar === ScalarType.STRING ? 'text' : 'number'
}

/**
 * Reads the text of a flag as the value of a field: lists by comma, enums short and in lower case, instants in ISO 8601 or as an
 * age such as `2h`, amounts in major units, files by their path, everything else that has parts as JSON. Throws `CommandError` 2.
 */
export function parseValue(field: DescField, text: string, form: AmountForm): unknown {
  if (field.fieldKind !== 'list') return parseItem(field, text, form)
  const is_of_values = field.listKind !== 'message'
  return is_of_values
    ? text.split(',').map((item) => parseItem(field, item.trim(), form))
    : parseJson(field, text)
}

function parseItem(field: DescField, text: string, form: AmountForm): unknown {
  if (isOfMessage(field, 'multihub.common.v1.Money')) return parseMoney(field, text, form)
  if (isAmount(field)) return parseMoney(field, text, form).minor
  if (isOfMessage(field, 'google.protobuf.Timestamp')) return parseTime(field, text)
  if (field.fieldKind === 'map' || field.message !== undefined) return parseParts(field, text, form)
  if (field.enum !== undefined) return parseEnum(field, field.enum, text)
  switch (field.scalar) {
    case ScalarType.STRING:
      return text
    case ScalarType.BOOL:
      if (text === 'true' || text === 'false') return text === 'true'
      throw wrongValue(field, 'true or false')
    case ScalarType.BYTES:
      return readBytes(text)
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return parseNumber(field, text)
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.SINT32:
      return Number(parseInteger(field, text))
    default:
      return parseInteger(field, text)
  }
}

/** Whether a field is an amount: `Money`, or minor units by its name. */
export function isAmount(field: DescField): boolean {
  if (isOfMessage(field, 'multihub.common.v1.Money')) return true
  return (
    field.fieldKind === 'scalar' &&
    field.scalar === ScalarType.INT64 &&
    (/(?:amount|_minor)$/.test(field.name) || isLimits(field.parent))
  )
}

/** Whether all parts of a message are amounts in the currency of the request. */
function isLimits({ typeName }: DescMessage): boolean {
  return typeName === 'multihub.merchants.v1.PayoutLimits'
}

/** Whether a field has amounts as parts. */
export function hasAmounts(field: DescField): boolean {
  return field.fieldKind === 'message' && isLimits(field.message)
}

/** The only field of a message that wraps a list or a map, such as `StringList`, so that an update can set it to nothing. */
export function listInside(field: DescField): DescField | undefined {
  if (field.fieldKind !== 'message') return undefined
  const [only, ...more] = field.message.fields
  if (only === undefined || more.length > 0) return undefined
  return only.fieldKind === 'map' || (only.fieldKind === 'list' && only.listKind !== 'message')
    ? only
    : undefined
}

/**
 * Parts are given as JSON, or as `name=value,name=value`, amounts in major units (in JSON in minor units, as it is printed). What an
 * update wraps is given as if it were not wrapped, and empty for none.
 */
function parseParts(field: DescField, text: string, form: AmountForm): unknown {
  if (text.startsWith('{') || text.startsWith('[')) return parseJson(field, text)
  const inside = listInside(field)
  if (inside !== undefined && field.message !== undefined)
    return create(field.message, text === '' ? {} : { [inside.localName]: parseValue(inside, text, form) })
  const pairs = text === '' ? [] : text.split(',').map((pair) => pair.split('='))
  if (pairs.some((pair) => pair.length !== 2)) throw wrongValue(field, 'JSON, or name=value,name=value')
  const parts = Object.fromEntries(
    pairs.map(([name = '', value = '']) => [
      name.trim(),
      hasAmounts(field) ? String(parseMoney(field, value.trim(), form).minor) : value,
    ]),
  )
  return parseJson(field, JSON.stringify(parts))
}

function isOfMessage(field: DescField, name: string): boolean {
  return field.fieldKind !== 'map' && field.message?.typeName === name
}

/** Reads `1,250.00 INR`, or `1,250.00` in the currency of the command; with `--minor`, `125000`. */
function parseMoney(field: DescField, text: string, { is_minor, currency }: AmountForm): Money {
  const [, sign = '', digits = '', own] = /^(-?)([0-9.,]+)(?: ?([A-Z]{3}))?$/.exec(text) ?? []
  const code = own ?? currency
  if (currency !== undefined && own !== undefined && own !== currency)
    throw wrongValue(field, `an amount in ${currency}, as the currency says`)
  if (digits === '') throw wrongValue(field, 'an amount such as "123.00 INR"')
  if (is_minor) {
    if (!/^\d+$/.test(digits)) throw wrongValue(field, 'an integer, because of --minor')
    return create(MoneySchema, { minor: BigInt(sign + digits), currency: code ?? '' })
  }
  if (code === undefined) throw wrongValue(field, 'an amount with its currency, such as "123.00 INR"')
  try {
    return create(MoneySchema, { minor: readAmount(sign + digits, code), currency: code })
  } catch (error) {
    throw new CommandError(2, `--${flagName(field.name)}: ${(error as Error).message}`)
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A day, with or without a time and its zone. */
const TIME = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:\d{2}| UTC)?)?$/

/** Reads an age, or a time. A time without a zone is in UTC, as printed times are. */
function parseTime(field: DescField, text: string): Timestamp {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? []
  const unit_ms = UNIT_MS[unit]
  if (unit_ms !== undefined) return timestampFromMs(clock.now_ms() - Number(count) * unit_ms)
  const [, day, time = '00:00', zone = 'Z'] = TIME.exec(text) ?? []
  const date = new Date(`${day}T${time}${zone === ' UTC' ? 'Z' : zone}`)
  if (Number.isNaN(date.getTime()))
    throw wrongValue(field, 'a time such as 2026-11-22T08:00:00Z, or an age such as 2h')
  return timestampFromDate(date)
}

function parseEnum(field: DescField, desc: DescEnum, text: string): number {
  const names = enumNames(desc)
  const value = names.get(text.toLowerCase().replaceAll('-', '_'))
  if (value === undefined) throw wrongValue(field, `one of ${[...names.keys()].join(', ')}`)
  return value
}

function parseInteger(field: DescField, text: string): bigint {
  if (!/^-?\d{1,19}$/.test(text)) throw wrongValue(field, 'an integer')
  return BigInt(text)
}

function parseNumber(field: DescField, text: string): number {
  const value = Number(text)
  if (text.trim() === '' || Number.isNaN(value)) throw wrongValue(field, 'a number')
  return value
}

/** JSON of a field is read as that field of its message, so that every name and form of protobuf's JSON works. */
function parseJson(field: DescField, text: string): unknown {
  try {
    const value: JsonValue = JSON.parse(text)
    const message = fromJson(field.parent, { [field.jsonName]: value })
    return Reflect.get(message, field.localName)
  } catch (error) {
    throw wrongValue(field, `JSON (${error instanceof Error ? error.message : 'unreadable'})`)
  }
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch {
    throw new CommandError(2, `${path} cannot be read`)
  }
}

function wrongValue(field: DescField, wanted: string): CommandError {
  return new CommandError(2, `--${flagName(field.name)} takes ${wanted}`)
}

/** The flag of a field: `merchant-id` for `merchant_id`. */
export function flagName(field_name: string): string {
  return field_name.replaceAll('_', '-')
}
