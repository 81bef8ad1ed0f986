import { type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf'
import { currencyOf } from '../values/amount-fields.ts'
import { wordsOfEnum } from '../values/filter-tokens.ts'
import { labelOf } from '../values/labels.ts'
import type { Call } from './call.ts'
import { type FieldKind, readText, textOf } from './texts.ts'

/** A field of a form. */
export interface FormField {
  /** The field of the request, by its path in the proto, such as `payout_limits.daily`. */
  readonly name: string
  readonly label?: string
  /** By default what the descriptor says. */
  readonly kind?: FieldKind
  /** The words to choose from; of a text they are proposals. */
  readonly choices?: readonly string[]
  /** Reads proposals from the server. */
  readonly propose?: (call: Call) => Promise<readonly string[]>
  readonly help?: string
  readonly is_optional?: boolean
  /** Whether it is among the fields that most people leave alone; such fields are optional. */
  readonly is_rare?: boolean
  readonly initial?: string
}

/** What a person has written, by the names of the fields. Items of a list are lines. */
export type Values = Readonly<Record<string, string>>

/** A field with everything that follows from the descriptor of its request. */
export interface ShownField extends FormField {
  readonly label: string
  readonly kind: FieldKind
  readonly initial: string
  readonly choices: readonly string[]
  /** Whether the choices are words of an enum, which have spaces for a person. */
  readonly is_enum: boolean
}

/** Completes a field by what the descriptor of the request says, and with the value that the resource has. */
export function shownField(field: FormField, input: DescMessage, item: unknown): ShownField {
  const found = findField(input, field.name)
  const desc = found === undefined ? undefined : unwrapped(found)
  const kind = field.kind ?? (desc === undefined ? 'text' : kindOf(desc))
  const known = field.choices ?? (desc?.enum == null ? [] : wordsOfEnum(desc.enum))
  const value = isMessage(item) ? valueAt(item, field.name) : undefined
  const text = field.initial ?? (value === undefined ? '' : textOf(kind, value, desc, currencyOf(item)))
  const chosen = text.split('\n').filter((word) => word !== '')
  // What a newer server has chosen stays, although this release does not know it.
  const choices = kind === 'checks' ? [...known, ...chosen.filter((word) => !known.includes(word))] : known
  const initial = kind === 'checks' ? choices.filter((word) => chosen.includes(word)).join('\n') : text
  const label = field.label ?? capital(labelOf(field.name.split('.').at(-1) ?? ''))
  return { ...field, label, kind, choices, initial, is_enum: desc?.enum != null }
}

/** What a form says: a request, and sentences about the fields that cannot be read, by their names. */
interface FormReading {
  readonly request: Readonly<Record<string, unknown>>
  readonly problems: Values
}

/** Reads what a person has written into a request. With `edits`, only the fields that differ from what they showed are in it. */
export function readFields(
  fields: readonly ShownField[],
  values: Values,
  input: DescMessage,
  { currency, edits }: { readonly currency: string; readonly edits: boolean },
): FormReading {
  const request: Record<string, unknown> = {}
  const problems: Record<string, string> = {}
  const isChanged = ({ name, initial }: ShownField): boolean => (values[name] ?? '') !== initial
  // What an update has as one message, such as the limits of a route, it replaces as a whole.
  const changed = new Set(fields.filter(isChanged).map(({ name }) => partOf(name)))
  for (const { name, kind } of fields) {
    const text = values[name] ?? ''
    const field = findField(input, name)
    if (field === undefined || (edits ? !changed.has(partOf(name)) : text === '')) continue
    // A time that was removed is for the act itself to say.
    if (text === '' && (kind === 'time' || kind === 'choice')) continue
    try {
      setAt(request, name, input, readText(kind, text, unwrapped(field), currency))
    } catch (error) {
      problems[name] = error instanceof Error ? error.message : String(error)
    }
  }
  return { request, problems }
}

function partOf(path: string): string {
  return path.split('.')[0] ?? ''
}

function setAt(request: Record<string, unknown>, path: string, input: DescMessage, value: unknown): void {
  const [name = '', ...rest] = path.split('.')
  const field = input.fields.find((one) => one.name === name)
  if (field === undefined) return
  const { localName, oneof } = field
  if (rest.length > 0 && field.fieldKind === 'message') {
    const part = (request[localName] ?? {}) as Record<string, unknown>
    request[localName] = part
    setAt(part, rest.join('.'), field.message, value)
  } else if (oneof !== undefined) request[oneof.localName] = { case: localName, value }
  else request[localName] = unwrapped(field) === field ? value : { values: value }
}

/** The field of a message by its path; `undefined` for one that is not in the message, such as a file. */
export function findField(desc: DescMessage, path: string): DescField | undefined {
  const [name, ...rest] = path.split('.')
  const field = desc.fields.find((one) => one.name === name)
  if (rest.length === 0 || field === undefined) return field
  return field.fieldKind === 'message' ? findField(field.message, rest.join('.')) : undefined
}

/** The list or map in a message that only wraps it, such as `StringList`, so that an update can set it to nothing. */
function unwrapped(field: DescField): DescField {
  if (field.fieldKind !== 'message') return field
  const [only, ...more] = field.message.fields
  return only?.name === 'values' && more.length === 0 ? only : field
}

function kindOf(field: DescField): FieldKind {
  if (field.fieldKind === 'map') return 'pairs'
  if (field.fieldKind === 'list') return field.listKind === 'enum' ? 'checks' : 'list'
  if (field.enum !== undefined) return 'choice'
  if (field.message?.typeName === 'google.protobuf.Timestamp') return 'time'
  if (field.message?.typeName === 'multihub.common.v1.Money') return 'amount'
  if (field.scalar === ScalarType.STRING) return 'text'
  return field.name.endsWith('_seconds') ? 'duration' : 'number'
}

function valueAt(message: Message, path: string): unknown {
  const [name = '', ...rest] = path.split('.')
  const local = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  const value: unknown = Reflect.get(message, local)
  return rest.length === 0 || value === undefined ? value : valueAt(value as Message, rest.join('.'))
}

function isMessage(item: unknown): item is Message {
  return typeof item === 'object' && item !== null && '$typeName' in item
}

function capital(label: string): string {
  return label.charAt(0).toUpperCase() + label.slice(1)
}
