import { create, type DescMessage, type DescMethodUnary, type Message, ScalarType } from '@bufbuild/protobuf'
import { type Command, Option } from 'commander'
import { uuidv7 } from '#lib/base/ids.ts'
import type { Verb } from '../nouns/noun.ts'
import { CommandError } from '../terminal.ts'
import { enumNames, flagName, parseValue, valueShown } from './field-value.ts'

/** Fields that no flag is made for: pages are followed by the command itself. */
const HIDDEN: readonly string[] = ['page_token', 'page_size']

/** Adds one flag per field of the request, besides the field of the ID and the fixed ones. */
export function addFieldFlags(command: Command, { input }: Pick<DescMethodUnary, 'input'>, verb: Verb): void {
  for (const field of input.fields) {
    if (HIDDEN.includes(field.name) || field.name === verb.id || field.localName in (verb.fixed ?? {}))
      continue
    const option = new Option(`--${flagName(field.name)} ${valueShown(field)}`)
    if (field.enum !== undefined && field.fieldKind === 'enum')
      option.choices([...enumNames(field.enum).keys()])
    if (field.name === 'operation_id')
      option.description = 'the same act under the same id is done once (default: a new id)'
    command.addOption(option)
    if (field.name.endsWith('_id') && field.name !== 'operation_id' && hasRoom(input, field.name))
      command.addOption(new Option(`--${flagName(field.name.slice(0, -3))} ${valueShown(field)}`).hideHelp())
  }
}

/** Whether `--merchant` can stand for `--merchant-id`: no other field has that name. */
function hasRoom({ fields }: DescMessage, name: string): boolean {
  const short = name.slice(0, -3)
  return fields.every((field) => field.name !== short) && !['profile', 'token', 'url'].includes(short)
}

/**
 * Makes the request of a command from its flags. `operation_id` is a new one unless it was given: a person repeats a command by giving
 * the printed id. Throws `CommandError` 2 that names the flag.
 */
export function requestOf(
  { input }: Pick<DescMethodUnary, 'input'>,
  verb: Verb,
  id: string | undefined,
  flags: Readonly<Record<string, string | boolean | undefined>>,
): Message {
  const currency = flags['currency']
  const form = {
    is_minor: flags['minor'] === true,
    currency: typeof currency === 'string' ? currency.toUpperCase() : undefined,
  }
  const values: Record<string, unknown> = { ...verb.fixed }
  const message = create(input, {})
  for (const field of input.fields) {
    const text = field.name === verb.id ? id : textOf(flags, field.name)
    if (text === undefined) continue
    values[field.localName] = parseValue(field, text, form)
  }
  const operation = input.fields.find(({ name }) => name === 'operation_id')
  if (operation !== undefined && values[operation.localName] === undefined)
    values[operation.localName] = uuidv7()
  for (const field of input.fields) {
    const value = values[field.localName]
    if (value === undefined) continue
    // A field of a oneof is set through its group.
    if (field.oneof === undefined) Reflect.set(message, field.localName, value)
    else Reflect.set(message, field.oneof.localName, { case: field.localName, value })
  }
  return message
}

/** The text of a flag under its whole or its short name; a flag without a value is true. */
function textOf(
  flags: Readonly<Record<string, string | boolean | undefined>>,
  name: string,
): string | undefined {
  const short = name.endsWith('_id') ? name.slice(0, -3) : name
  const value = flags[camel(name)] ?? flags[camel(short)]
  return value === undefined ? undefined : String(value)
}

function camel(name: string): string {
  return name.replace(/[-_](.)/g, (_, letter: string) => letter.toUpperCase())
}

/** Whether an RPC takes its reason in a field; of all others it goes with the headers. */
export function hasReasonField({ input }: DescMethodUnary): boolean {
  return input.fields.some(
    (field) => field.name === 'reason' && field.fieldKind === 'scalar' && field.scalar === ScalarType.STRING,
  )
}

/** Adds the flags with which a command without an ID changes many things. */
export function addManyFlags(command: Command, method: DescMethodUnary, verb: Verb): void {
  addFieldFlags(command, { input: filterOf(method, verb).message }, verb)
  command
    .option('--dry-run', 'without an ID: only say how many there are')
    .option('--yes', 'without an ID: do it for all that the filters select')
}

/** Makes the request of a command without an ID. Throws `CommandError` 2 without `--dry-run` and `--yes`. */
export function manyRequestOf(
  method: DescMethodUnary,
  verb: Verb,
  flags: Readonly<Record<string, string | boolean | undefined>>,
): Message {
  if (flags['dryRun'] === undefined && flags['yes'] === undefined)
    throw new CommandError(2, `${verb.name} needs an ID, or filters with --dry-run or --yes`)
  const request = requestOf(method, verb, undefined, flags)
  const filter = filterOf(method, verb)
  Reflect.set(request, filter.localName, requestOf({ input: filter.message }, verb, undefined, flags))
  return request
}

function filterOf({ input }: DescMethodUnary, { many }: Verb) {
  const field = input.fields.find(({ name }) => name === many?.filter)
  if (field?.fieldKind !== 'message') throw new TypeError(`${input.typeName} has no ${many?.filter}`)
  return field
}

/** Refuses a command without the ID that it needs. */
export function demandId({ name, id }: Verb, given: string | undefined): void {
  if (id !== undefined && given === undefined)
    throw new CommandError(2, `${name} needs an ID: the ${id.replaceAll('_', ' ')}`)
}
