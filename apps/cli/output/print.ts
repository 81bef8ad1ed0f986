import { type DescField, type DescMessage, type Message, ScalarType, toJson } from '@bufbuild/protobuf'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import { csvAmount, csvLine } from '#lib/contract/csv-cell.ts'
import { amountText, fieldValue, type ValueForm, valueText } from '#lib/contract/shown-values.ts'
import { toneOf } from '#lib/contract/tones.ts'
import { CommandError, type Output } from '../terminal.ts'
import { inTone, stateText } from './colour.ts'
import { layOut } from './table.ts'

/** The columns of an output that is not a terminal, such as a file: no column is left out. */
const ENDLESS = 100_000

/** Prints the rows of a list as a table. `columns` are the columns of the noun. */
export function printTable(
  output: Output,
  row: DescMessage,
  rows: readonly Message[],
  columns: readonly string[],
  form: ValueForm,
): void {
  const cells = columns.map((column) => cellOf(row, column, form))
  const { lines, left_out } = layOut(
    {
      heads: cells.map(({ head }) => head),
      rows: rows.map((message) => cells.map(({ textOf }) => textOf(message))),
      right: new Set(cells.flatMap(({ is_amount }, n) => (is_amount ? [n] : []))),
      paint(shown, text, n) {
        const enum_name = cells[n]?.enum_name
        return enum_name === undefined ? shown : inTone(output, shown, toneOf(text, enum_name))
      },
    },
    output.isTTY === true ? (output.columns ?? 80) : ENDLESS,
  )
  for (const line of lines) output.write(`${line}\n`)
  if (left_out.length > 0) output.write(`(too narrow for ${left_out.join(', ')}; --json has everything)\n`)
}

interface Cell {
  readonly head: string
  readonly is_amount: boolean
  /** The name of the enum that the column shows; undefined for what is no state. */
  readonly enum_name: string | undefined
  readonly textOf: (message: Message) => string
  /** The amount of a column with amounts; undefined when the row has none. */
  readonly amountOf: (message: Message) => Pick<Money, 'minor' | 'currency'> | undefined
}

function cellOf(row: DescMessage, column: string, form: ValueForm): Cell {
  const [path = '', kind] = column.split(':')
  const head = headOf(path)
  const fields = fieldsOn(row, path)
  const last = fields.at(-1)
  if (last === undefined) throw new TypeError(`a row of ${row.typeName} has no ${path}`)
  const is_money = last.fieldKind === 'message' && last.message.typeName === 'multihub.common.v1.Money'
  const partOf = (message: Message): Message | undefined => {
    let part: Message | undefined = message
    for (const field of fields.slice(0, -1)) part = part && (fieldValue(part, field) as Message | undefined)
    return part
  }
  return {
    head,
    is_amount: kind === 'money' || is_money,
    enum_name: last.fieldKind === 'enum' ? last.enum.typeName : undefined,
    textOf(message) {
      const part = partOf(message)
      if (part === undefined) return ''
      const value = fieldValue(part, last)
      if (kind === 'short') return valueText(last, value, form).replace(/^.*\.(?=[^.]*\/)/, '')
      if (kind !== 'money') return valueText(last, value, form)
      return amountText(value as bigint, currencyOf(part), form)
    },
    amountOf(message) {
      const part = partOf(message)
      const value = part && fieldValue(part, last)
      if (part === undefined || value === undefined) return undefined
      if (is_money) return value as Money
      return { minor: value as bigint, currency: currencyOf(part) }
    },
  }
}

/** The currency of the amounts of a message: its own, or the one of its `amount`. */
function currencyOf(part: Message): string {
  const amount: { readonly currency?: string } | undefined = Reflect.get(part, 'amount')
  return String(Reflect.get(part, 'currency') ?? amount?.currency)
}

/** `payment_id` becomes PAYMENT, `create_time` CREATED, and `c_id` stays C ID. */
function headOf(path: string): string {
  const name = path.replace(/^.*\./, '')
  const short = name
    .replace(/_(?:time|at|minor)$/, '')
    .replace(/^.*_(?=[ch]_id$)/, '')
    .replace(/(?<=...)_id$/, '')
    .replace(/_(?:key|count)$/, '')
  const is_past = /^(?:create|update|resolve|refuse)_time$/.test(name)
  const zone = /(?:^|_)(?:time|at)$/.test(name) ? ' (UTC)' : ''
  return `${short}${is_past ? 'd' : ''}`.replaceAll('_', ' ').toUpperCase() + zone
}

function fieldsOn(row: DescMessage, path: string): readonly DescField[] {
  const fields: DescField[] = []
  let desc: DescMessage | undefined = row
  for (const name of path.split('.')) {
    const field: DescField | undefined = desc?.fields.find((one) => one.name === name)
    if (field === undefined) return []
    fields.push(field)
    desc = field.fieldKind === 'message' ? field.message : undefined
  }
  return fields
}

/**
 * Prints one resource as lines of names and values; parts are indented, lists have one line per item. `currency` is for amounts
 * without a currency of their own.
 */
export function printResource(
  output: Output,
  desc: DescMessage,
  message: Message,
  form: ValueForm,
  { indent = '', currency = '' }: { readonly indent?: string; readonly currency?: string } = {},
): void {
  const shown = desc.fields.filter((field) => isSet(field, fieldValue(message, field)))
  const width = Math.max(0, ...shown.map(({ name }) => name.length))
  const own_currency = String(Reflect.get(message, 'currency') || currency)
  for (const field of shown) {
    const value = fieldValue(message, field)
    const label = `${indent}${field.name.padEnd(width)}`
    if (isNested(field)) {
      output.write(`${indent}${field.name}\n`)
      for (const [n, item] of (Array.isArray(value) ? value : [value]).entries()) {
        if (n > 0) output.write('\n')
        const inside = { indent: `${indent}  `, currency: own_currency }
        printResource(output, field.message, item as Message, form, inside)
      }
    } else if (own_currency !== '' && isMinor(field))
      output.write(`${label}  ${amountText(value as bigint, own_currency, form)}\n`)
    else {
      const text = isUndecided(desc, message, field) ? 'running' : valueText(field, value, form)
      const shown = field.fieldKind === 'enum' ? stateText(output, text, field.enum.typeName) : text
      output.write(`${label}  ${shown}\n`)
    }
  }
}

/** Whether a verification goes on, so that `consistent` says nothing yet. */
function isUndecided({ typeName }: DescMessage, message: Message, { name }: DescField): boolean {
  if (typeName !== 'multihub.balances.v1.Verification' || name !== 'consistent') return false
  const problems: readonly unknown[] = Reflect.get(message, 'problems')
  return Reflect.get(message, 'endTime') === undefined && problems.length === 0
}

type NestedField = DescField & { readonly message: DescMessage }

function isNested(field: DescField): field is NestedField {
  if (field.fieldKind === 'map' || field.message === undefined) return false
  return !['google.protobuf.Timestamp', 'multihub.common.v1.Money'].includes(field.message.typeName)
}

/** Whether a field is an amount in minor units of the currency of the resource. */
function isMinor(field: DescField): boolean {
  if (field.fieldKind !== 'scalar' || field.scalar !== ScalarType.INT64) return false
  const is_limit = /(?:PayoutLimits|Funds)$/.test(field.parent.name)
  return is_limit || /(?:amount|_minor|^available|^held)$/.test(field.name)
}

/** Whether there is something to show: a truth value always, a part when it has something itself. */
function isSet(field: DescField, value: unknown): boolean {
  if (value === undefined || value === '' || value === 0 || value === 0n) return false
  if (Array.isArray(value)) return value.length > 0
  if (value instanceof Uint8Array) return value.length > 0
  if (field.fieldKind === 'map') return Object.keys(value as object).length > 0
  if (isNested(field))
    return field.message.fields.some((one) => {
      const part = fieldValue(value as Message, one)
      return part !== false && isSet(one, part)
    })
  return true
}

/** One JSON document with the messages' own names. Every field without presence is in it, so that programs need no defaults. */
export function jsonOf(desc: DescMessage, message: Message, space?: number): string {
  return JSON.stringify(toJson(desc, message, { alwaysEmitImplicit: true }), null, space)
}

/** Prints messages as one array, or with `jsonl` one per line. */
export function printJson(
  output: Output,
  desc: DescMessage,
  messages: readonly Message[],
  { jsonl }: { readonly jsonl?: boolean },
): void {
  const texts = messages.map((one) => jsonOf(desc, one))
  output.write(jsonl ? texts.map((text) => `${text}\n`).join('') : `[${texts.join(',\n')}]\n`)
}

/** The one resource of an answer, or the whole answer when it has several parts, such as a resource with its secret. */
export function resourceOf(desc: DescMessage, answer: Message): readonly [DescMessage, Message] {
  const [field, ...more] = desc.fields
  if (field?.fieldKind !== 'message' || more.length > 0) return [desc, answer]
  const resource = fieldValue(answer, field) as Message | undefined
  return resource === undefined ? [desc, answer] : [field.message, resource]
}

/** The field of a list's answer that has the rows. */
export function rowsField(desc: DescMessage): DescField & { readonly message: DescMessage } {
  const field = desc.fields.find((one) => one.fieldKind === 'list' && one.listKind === 'message')
  if (field?.fieldKind !== 'list' || field.message === undefined)
    throw new TypeError(`${desc.typeName} has no rows`)
  return field as DescField & { readonly message: DescMessage }
}

/**
 * Prints a table as CSV (RFC 4180), for entries and reports. An amount is a plain number, with its currency in the next column unless the
 * row has a column of that.
 */
export function printCsv(
  output: Output,
  row: DescMessage,
  rows: readonly Message[],
  columns: readonly string[],
  form: ValueForm,
  with_heads: boolean,
): void {
  if (columns.length === 0) throw new CommandError(2, 'this command has no CSV')
  const cells = columns.map((column) => {
    const [path = ''] = column.split(':')
    const has_currency_column = columns.includes(path.replace(/[^.]*$/, 'currency'))
    return { ...cellOf(row, column, form), name: path.replace(/^.*\./, ''), has_currency_column }
  })
  if (with_heads)
    output.write(
      csvLine(
        cells.flatMap(({ name, is_amount, has_currency_column }) =>
          is_amount && !has_currency_column ? [name, `${name}_currency`] : [name],
        ),
      ),
    )
  for (const message of rows)
    output.write(
      csvLine(
        cells.flatMap(({ is_amount, has_currency_column, textOf, amountOf }) => {
          if (!is_amount) return [textOf(message)]
          const { minor, currency } = amountOf(message) ?? {}
          const number =
            minor === undefined ? '' : form.is_minor ? `${minor}` : csvAmount(minor, currency ?? '')
          return has_currency_column ? [number] : [number, currency ?? '']
        }),
      ),
    )
}
