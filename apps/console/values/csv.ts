import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import { cleanText } from '#lib/contract/clean-text.ts'
import { csvAmount, csvLine } from '#lib/contract/csv-cell.ts'
import { fieldValue, valueText } from '#lib/contract/shown-values.ts'
import { currencyOf, isMinorAmount } from './amount-fields.ts'

const MONEY = 'multihub.common.v1.Money'
const TIMESTAMP = 'google.protobuf.Timestamp'

/** The head of a CSV file: the names of the fields. An amount has its currency in a column of its own. */
export function csvHead(fields: readonly DescField[]): string {
  return csvLine(
    fields.flatMap((field) => (isMoney(field) ? [field.name, `${field.name}_currency`] : [field.name])),
  )
}

/** A row of a CSV file: whole ids, instants in UTC, amounts in major units. */
export function csvRow(fields: readonly DescField[], message: Message): string {
  return csvLine(fields.flatMap((field) => cellsOf(field, message)))
}

function cellsOf(field: DescField, message: Message): readonly string[] {
  const value = fieldValue(message, field)
  if (isMoney(field)) {
    const { minor, currency } = (value ?? { minor: undefined, currency: '' }) as Partial<Money>
    return [minor === undefined ? '' : csvAmount(minor, currency ?? ''), currency ?? '']
  }
  if (value === undefined) return ['']
  if (field.message?.typeName === TIMESTAMP) return [timestampDate(value as Timestamp).toISOString()]
  const currency = currencyOf(message)
  if (typeof value === 'bigint' && isMinorAmount(field, currency)) return [csvAmount(value, currency)]
  if (typeof value === 'string') return [cleanText(value)]
  return [valueText(field, value, { is_minor: false })]
}

function isMoney({ message }: DescField): boolean {
  return message?.typeName === MONEY
}

/** The fields of a resource that fit into a column: not messages with fields of their own, bytes or maps. */
export function columnFields({ fields }: DescMessage): readonly DescField[] {
  return fields.filter(
    ({ fieldKind, message, scalar }) =>
      fieldKind !== 'map' &&
      scalar !== BYTES &&
      (message === undefined || [MONEY, TIMESTAMP].includes(message.typeName)) &&
      !(fieldKind === 'list' && message !== undefined),
  )
}

// The number of protobuf's descriptor for bytes.
const BYTES = 12
