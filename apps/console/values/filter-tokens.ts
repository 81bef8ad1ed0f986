import type { DescEnum, DescField, DescMessage } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { spanOf, type Zone } from './times.ts'

/** The filters of a list: each token's name with the field of the request that it sets; `created` sets two. */
export type Filters = Readonly<Record<string, string>>

/** What the tokens of a text ask for, or what is wrong with them. */
export interface FilterReading {
  readonly request: Readonly<Record<string, unknown>>
  /** Sentences about tokens that could not be read; the list is not asked then. */
  readonly problems: readonly string[]
}

/** Reads filters such as `status:success created:today` into the fields of a request. Nothing is left out silently. */
export function readFilters(
  text: string,
  filters: Filters,
  input: DescMessage,
  { now_ms, zone }: { readonly now_ms: number; readonly zone: Zone },
): FilterReading {
  const request: Record<string, unknown> = {}
  const problems: string[] = []
  const tokens = text.split(/\s+/).filter((token) => token !== '')
  const seen = new Set<string>()
  for (const token of tokens) {
    const [, name = '', words = ''] = /^([a-z_]+):(.+)$/.exec(token) ?? []
    const field_name = filters[name]
    const field = input.fields.find((one) => one.name === field_name)
    if (field === undefined) problems.push(`${token} is not a filter: write ${namesOf(filters)}`)
    else if (seen.has(name)) problems.push(`${name} occurs twice`)
    else {
      const problem = setField(request, { name, field, input }, words, { now_ms, zone })
      if (problem !== undefined) problems.push(problem)
    }
    seen.add(name)
  }
  return { request, problems }
}

interface Target {
  readonly name: string
  readonly field: DescField
  readonly input: DescMessage
}

function setField(
  request: Record<string, unknown>,
  { name, field, input }: Target,
  words: string,
  { now_ms, zone }: { readonly now_ms: number; readonly zone: Zone },
): string | undefined {
  const { localName } = field
  if (field.message?.typeName === 'google.protobuf.Timestamp') {
    const span = spanOf(words, now_ms, zone)
    if (span === undefined)
      return `${name} is today, yesterday, a day such as 2026-11-28, or a time such as 2h or 7d`
    request[localName] = timestampFromMs(span.from_ms)
    const end = input.fields.find((one) => one.name === field.name.replace(/_from$/, '_to'))
    if (span.to_ms !== undefined && end !== undefined) request[end.localName] = timestampFromMs(span.to_ms)
    return undefined
  }
  if (field.enum != null) {
    const numbers = words.split(',').map((word) => numberOf(field.enum as DescEnum, word))
    const wrong = numbers.includes(undefined) || (field.fieldKind !== 'list' && numbers.length > 1)
    if (wrong) return `${name} is ${wordsOfEnum(field.enum).join(', ')}`
    request[localName] = field.fieldKind === 'list' ? numbers : numbers[0]
    return undefined
  }
  if (field.fieldKind === 'list') request[localName] = words.split(',')
  else if (field.scalar === INT32) {
    if (!/^\d{1,9}$/.test(words)) return `${name} is a number`
    request[localName] = Number(words)
  } else if (isNumber(field)) {
    if (!/^\d{1,18}$/.test(words)) return `${name} is a number`
    request[localName] = isText(field) ? words : BigInt(words)
  } else if (isFlag(field)) {
    if (words !== 'yes' && words !== 'no') return `${name} is yes or no`
    request[localName] = words === 'yes'
  } else request[localName] = words
  return undefined
}

// The numbers of protobuf's descriptor for the scalar types.
const INT64 = 3
const INT32 = 5
const BOOL = 8
const isNumber = (field: DescField): boolean => field.scalar === INT64
const isFlag = (field: DescField): boolean => field.scalar === BOOL
const isText = (field: DescField): boolean => field.fieldKind === 'scalar' && field.longAsString

/** Whether a list has a filter that selects days, which begin at 00:00 in some zone. */
export function hasDays(filters: Filters, input: DescMessage): boolean {
  return Object.values(filters).some(
    (name) =>
      input.fields.find((field) => field.name === name)?.message?.typeName === 'google.protobuf.Timestamp',
  )
}

function namesOf(filters: Filters): string {
  return Object.keys(filters)
    .map((name) => `${name}:`)
    .join(', ')
}

/** The words of an enum, such as `success`, without the unspecified one. */
export function wordsOfEnum({ values, sharedPrefix = '' }: DescEnum): readonly string[] {
  return values
    .filter(({ number }) => number !== 0)
    .map(({ name }) => name.slice(sharedPrefix.length).toLowerCase())
}

/** The word of a number of an enum; empty for a number that it does not have. */
export function wordOf(desc: DescEnum, number: unknown): string {
  return wordsOfEnum(desc).find((word) => numberOf(desc, word) === number) ?? ''
}

/** The number of a word of an enum; `undefined` for a word that it does not have. */
export function numberOf(desc: DescEnum, word: string): number | undefined {
  const { values, sharedPrefix = '' } = desc
  return values.find(
    ({ name, number }) => number !== 0 && name.slice(sharedPrefix.length).toLowerCase() === word,
  )?.number
}

/** What a person can write next, for the last token of a text: names of filters, or the words of an enum. */
export function completions(text: string, filters: Filters, input: DescMessage): readonly string[] {
  const [, before = '', last = ''] = /^(.*?)(\S*)$/s.exec(text) ?? []
  const name = last.split(':', 1)[0] ?? ''
  const field = input.fields.find((one) => one.name === filters[name])
  const words = !last.includes(':')
    ? Object.keys(filters).map((one) => `${one}:`)
    : field?.enum != null
      ? wordsOfEnum(field.enum).map((word) => `${name}:${word}`)
      : field?.message?.typeName === 'google.protobuf.Timestamp'
        ? ['today', 'yesterday', '1h', '24h', '7d'].map((word) => `${name}:${word}`)
        : field !== undefined && isFlag(field)
          ? [`${name}:yes`, `${name}:no`]
          : []
  return words.filter((word) => word.startsWith(last) && word !== last).map((word) => `${before}${word}`)
}
