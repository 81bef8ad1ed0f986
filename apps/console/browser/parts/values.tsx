import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ReactNode } from 'react'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import { amountText, fieldValue, spanText, valueText } from '#lib/contract/shown-values.ts'
import { SHAPES, toneOf } from '#lib/contract/tones.ts'
import { kindOfField } from '../../values/addresses.ts'
import { currencyOf, isMinorAmount } from '../../values/amount-fields.ts'
import { labelOf } from '../../values/labels.ts'
import { wordsOf } from '../../values/times.ts'
import { nowMs } from '../call/machine.ts'
import { useZone } from './preferences.ts'
import { Id, Lines, Text } from './text.tsx'

/** The fields whose values are states, with a tone and a shape. */
const IS_STATE = /(^|_)(status|state|outcome|priority|trouble)$/

const TIMESTAMP = 'google.protobuf.Timestamp'
const MONEY = 'multihub.common.v1.Money'
const MAJOR = { is_minor: false }

/** An amount in major units of its currency. */
export function Amount({ children: money }: { readonly children: Money | undefined }): ReactNode {
  return money && <span className="amount">{amountText(money.minor, money.currency, MAJOR)}</span>
}

/** An instant in the zone of the reader; its title has it in UTC. */
export function Time({ children: time }: { readonly children: Timestamp | undefined }): ReactNode {
  const zone = useZone()
  if (time === undefined) return null
  const { day, time: clock_time } = wordsOf(time, zone)
  const { day: utc_day, time: utc_time } = wordsOf(time, 'UTC')
  return (
    <time dateTime={new Date(timestampMs(time)).toISOString()} title={`${utc_day} ${utc_time} UTC`}>
      {day} {clock_time.slice(0, 8)}
    </time>
  )
}

/** How long ago an instant was, or how far ahead it is. */
export function Age({ children: time }: { readonly children: Timestamp | undefined }): ReactNode {
  if (time === undefined) return null
  const age_ms = nowMs() - timestampMs(time)
  return <span>{age_ms < 0 ? `in ${spanText(-age_ms)}` : `${spanText(age_ms)} ago`}</span>
}

/** A state: its shape, its word and its colour. */
export function State({
  word,
  of = '',
}: {
  readonly word: string
  /** The name of its enum. */
  readonly of?: string
}): ReactNode {
  const tone = toneOf(word, of)
  return (
    <span className={`state ${tone}`}>
      <span aria-hidden="true">{SHAPES[tone]}</span> {word.replaceAll('_', ' ')}
    </span>
  )
}

/** The value of one field of a message, as people read it. */
export function Value({
  field,
  message,
  currency = currencyOf(message),
}: {
  readonly field: DescField
  readonly message: Message
  readonly currency?: string
}): ReactNode {
  const value = fieldValue(message, field)
  if (value === undefined || value === '') return null
  if (field.fieldKind === 'enum') {
    const word = valueText(field, value, MAJOR)
    if (word === '') return null
    return IS_STATE.test(field.name) ? (
      <State word={word} of={field.enum.typeName} />
    ) : (
      word.replaceAll('_', ' ')
    )
  }
  if (field.fieldKind === 'message')
    return <MessageValue field={field} value={value as Message} currency={currency} />
  if (field.fieldKind === 'list' && field.listKind === 'message')
    return (value as readonly Message[]).map((item, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the items of a message have no other identity
      <Facts key={index} desc={field.message} message={item} />
    ))
  if (value instanceof Uint8Array) return value.length > 0 && <BytesValue bytes={value} />
  if (typeof value === 'bigint' && isMinorAmount(field, currency))
    return <span className="amount">{amountText(value, currency, MAJOR)}</span>
  const text = valueText(field, value, MAJOR)
  if (field.fieldKind !== 'scalar') return <Text>{text}</Text>
  const kind = kindOfField(field.name)
  if (kind !== undefined && text !== '0') return <Id kind={kind}>{text}</Id>
  return <Lines>{typeof value === 'string' ? value : text}</Lines>
}

function MessageValue({
  field,
  value,
  currency,
}: {
  readonly currency: string
  readonly field: DescField & { readonly fieldKind: 'message' }
  readonly value: Message
}): ReactNode {
  if (value.$typeName === TIMESTAMP) return <Time>{value as Timestamp}</Time>
  if (value.$typeName === MONEY) return <Amount>{value as Money}</Amount>
  return <Facts desc={field.message} message={value} currency={currencyOf(value) || currency} />
}

/** Bytes as text, such as the beginning of a response. */
function BytesValue({ bytes }: { readonly bytes: Uint8Array }): ReactNode {
  return (
    <pre>
      <Lines>{new TextDecoder().decode(bytes)}</Lines>
    </pre>
  )
}

/** Whether a field says something: numbers that are 0 and empty lists do not. */
function isSet(field: DescField, message: Message): boolean {
  const value = fieldValue(message, field)
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length > 0
  if (field.fieldKind === 'map') return Object.keys(value ?? {}).length > 0
  return value !== undefined && value !== '' && value !== 0 && value !== 0n && value !== false
}

/** Whether a field has fields of its own, which are shown below its name. */
function isNested(field: DescField): boolean {
  if (field.fieldKind === 'list') return field.listKind === 'message'
  const { typeName } = field.message ?? {}
  return field.fieldKind === 'message' && typeName !== TIMESTAMP && typeName !== MONEY
}

/** All fields of a message that have a value, with their names. */
export function Facts({
  desc,
  message,
  without = [],
  currency = currencyOf(message),
}: {
  readonly currency?: string
  readonly desc: DescMessage
  readonly message: Message
  readonly without?: readonly string[]
}): ReactNode {
  const fields = desc.fields.filter((field) => isSet(field, message) && !without.includes(field.name))
  return (
    <dl className="facts">
      {fields.map((field) => (
        <div key={field.name} className={isNested(field) ? 'nested' : ''}>
          <dt>{labelOf(field.name)}</dt>
          <dd>
            <Value field={field} message={message} currency={currency} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
