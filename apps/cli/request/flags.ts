import {
  create,
  type DescField,
  type DescMessage,
  type DescMethodUnary,
  type Message,
  ScalarType,
} from '@bufbuild/protobuf'
import { type Command, Option } from 'commander'
import { uuidv7 } from '#lib/base/ids.ts'
import type { Verb } from '../nouns/noun.ts'
import { CommandError } from '../terminal.ts'
import { flagName, hasAmounts, isAmount, listInside, parseValue, valueShown } from './field-value.ts'
import { flagAbout } from './flag-about.ts'

/** Fields that no flag is made for: pages are followed by the command itself. */
const HIDDEN: readonly string[] = ['page_token', 'page_size']

/** Fields of a list that select nothing. */
const NO_FILTERS: readonly string[] = [...HIDDEN, 'oldest_first', 'reveal', 'as_merchant']

/** Flags of the command itself, which no field has as its second name. */
const OWN_FLAGS: readonly string[] = ['profile', 'token', 'url', 'limit', 'watch', 'csv', 'yes']

/** Adds one flag per field of the request, besides the field of the ID and the fixed ones. */
export function addFieldFlags(command: Command, { input }: Pick<DescMethodUnary, 'input'>, verb: Verb): void {
  for (const field of input.fields) {
    if (HIDDEN.includes(field.name) || field.name === verb.id || field.localName in (verb.fixed ?? {}))
      continue
    if (command.options.some(({ long }) => long === `--${flagName(field.name)}`)) continue
    const short = shortNameOf(input, field)
    // A flag takes major units, whatever the field takes.
    const is_minor = field.name.endsWith('_minor') && short !== undefined
    const [shown, other] = is_minor ? [short, field.name] : [field.name, short]
    const option = new Option(`--${flagName(shown)} ${valueShown(field)}`)
    option.description = flagAbout(field)
    command.addOption(option)
    if (other !== undefined)
      command.addOption(new Option(`--${flagName(other)} ${valueShown(field)}`).hideHelp())
  }
}

/**
 * The second name of a flag: `--merchant` for `--merchant-id`, `--above` for `--above-minor`, and `--status` for the list `--statuses`.
 * There is none when another field or flag has it.
 */
export function shortNameOf({ fields }: DescMessage, field: DescField): string | undefined {
  const { name } = field
  const short =
    name === 'operation_id'
      ? name
      : field.fieldKind === 'list' || listInside(field) !== undefined
        ? name.replace(/ies$/, 'y').replace(/(?<=us)es$|(?<=[^us])s$/, '')
        : name.replace(/_(?:id|minor)$/, '')
  const is_taken = fields.some((field) => field.name === short) || OWN_FLAGS.includes(short)
  return is_taken ? undefined : short
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
    const text = field.name === verb.id ? id : textOf(flags, field.name, shortNameOf(input, field))
    if (text === undefined) continue
    values[field.localName] = parseValue(field, text, form)
    // An amount that names its currency says which one the request is about.
    const [, own_currency] = /[0-9] ?([A-Z]{3})$/.exec(text) ?? []
    const currency_field = input.fields.find(({ name }) => name === 'currency')
    if (own_currency !== undefined && isAmount(field) && currency_field !== undefined)
      values[currency_field.localName] ??= own_currency
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
  short = name,
): string | undefined {
  const value = flags[camel(name)] ?? flags[camel(short)]
  return value === undefined ? undefined : String(value)
}

/** Whether a flag gives an amount in major units, which needs a currency. */
export function givesAmount(
  { input }: Pick<DescMethodUnary, 'input'>,
  flags: Readonly<Record<string, string | boolean | undefined>>,
): boolean {
  if (flags['minor'] === true) return false
  return input.fields.some((field) => {
    const text = textOf(flags, field.name, shortNameOf(input, field))
    return text !== undefined && (isAmount(field) || hasAmounts(field))
  })
}

/** The name of a flag or field as its property: `merchantId` for `merchant-id` and `merchant_id`. */
export function camel(name: string): string {
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
  addConsentFlags(command)
}

/** Adds the flags with which a command without an ID does the same for each row of a list. */
export function addEachFlags(command: Command, list: DescMethodUnary, { name, each }: Verb): void {
  addFieldFlags(command, list, { name, about: '', rpc: list.localName, fixed: each?.fixed ?? {} })
  addConsentFlags(command)
  command.option('--all', 'without an ID and filters: of all merchants')
}

function addConsentFlags(command: Command): void {
  command
    .option('--dry-run', 'without an ID: only say how many there are')
    .option('--yes', 'without an ID: do it for what the filters select')
}

/** Refuses a command without an ID that neither asks for the numbers nor consents. */
export function demandConsent({ name }: Verb, flags: Readonly<Record<string, unknown>>): void {
  if (flags['dryRun'] === undefined && flags['yes'] === undefined)
    throw new CommandError(2, `${name} needs an ID, or filters with --dry-run or --yes`)
}

/** Refuses a command for each row of a list that selects all rows, such as by a filter from an empty variable, without `--all`. */
export function demandFilter(
  { name }: Verb,
  { input }: DescMethodUnary,
  flags: Readonly<Record<string, string | boolean | undefined>>,
): void {
  const given = input.fields.filter((field) => textOf(flags, field.name, shortNameOf(input, field)))
  if (flags['all'] || given.some(({ name }) => !NO_FILTERS.includes(name))) return
  throw new CommandError(2, `${name} without an ID needs a filter, such as --merchant, or --all`)
}

/** Makes the request of a command without an ID. */
export function manyRequestOf(
  method: DescMethodUnary,
  verb: Verb,
  flags: Readonly<Record<string, string | boolean | undefined>>,
): Message {
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

/** Refuses a command without the ID that it needs, or what can stand for it. */
export function demandId(
  { name, id, finds, instead_of_id = [] }: Verb,
  given: string | undefined,
  flags: Readonly<Record<string, unknown>>,
): void {
  const wanted = id ?? finds
  if (wanted === undefined || given !== undefined) return
  if (instead_of_id.some((field) => flags[camel(field)] !== undefined)) return
  const others = instead_of_id.map((field) => `, or --${flagName(field)}`).join('')
  throw new CommandError(2, `${name} needs an ID: the ${wanted.replaceAll('_', ' ')}${others}`)
}
