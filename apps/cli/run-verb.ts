import type { DescMethodUnary, DescService, Message } from '@bufbuild/protobuf'
import { cleanText } from '#lib/contract/clean-text.ts'
import { type Connection, openConnection } from './call/connection.ts'
import { sayingHowToRepeat } from './call/repeating.ts'
import type { Verb } from './nouns/noun.ts'
import { jsonOf, printResource, resourceOf } from './output/print.ts'
import type { CommonFlags } from './request/common-flags.ts'
import { flagName } from './request/field-value.ts'
import {
  camel,
  demandConsent,
  demandId,
  givesAmount,
  hasReasonField,
  manyRequestOf,
  requestOf,
} from './request/flags.ts'
import { type Flags, findRow, methodOf, runList } from './run-list.ts'
import { runEach, runMany } from './run-many.ts'
import { CommandError, type Terminal } from './terminal.ts'

/** Runs one command: makes the request of the flags, calls the RPC, prints the answer. Throws `CommandError`. */
export async function runVerb(
  verb: Verb,
  service: DescService,
  id: string | undefined,
  flags: Flags,
  terminal: Terminal,
): Promise<void> {
  const is_each = verb.each !== undefined && id === undefined
  const is_many = verb.many !== undefined && id === undefined
  if (is_each || is_many) demandConsent(verb, flags)
  if (is_each) return runEach(verb, service, flags, terminal)
  const method = methodOf(service, is_many ? verb.many : verb)
  if (!is_many) demandId(verb, id, flags)
  const connection = openConnection(accountFlags(method, flags), terminal, {
    sends_reason: !hasReasonField(method),
    argument: verb.id,
  })
  const request = is_many
    ? manyRequestOf(method, verb, flags)
    : requestOf(method, verb, id, await withCurrency(verb, service, id, flags, connection))
  const destroyed = destroyedBy(verb, request)
  if (destroyed !== undefined && !flags['yes']) await confirm(destroyed, terminal)
  const call = { connection, service, method, verb, flags, terminal }
  if (verb.uploads !== undefined) await upload(verb.uploads, connection, id ?? '', request, flags, terminal)
  if (verb.columns !== undefined) return runList(call, verb.columns, request)
  if (isRowOfList(verb)) return findRow(call, verb.finds, id ?? '', request)
  const answer = await (is_many
    ? runMany(call, verb.many, request)
    : sayingHowToRepeat(method, request, terminal, () => callOf(verb, connection, method, request, id)))
  if (hasNoSecret(answer))
    terminal.stderr.write('it was done before, and its secret is not shown again; if it is lost, rotate it\n')
  const [desc, resource] = resourceOf(method.output, answer)
  if (flags.json) terminal.stdout.write(`${jsonOf(desc, resource, 2)}\n`)
  else if (flags.jsonl) terminal.stdout.write(`${jsonOf(desc, resource)}\n`)
  else printResource(terminal.stdout, desc, resource, { is_minor: flags.minor === true })
  for (const sentence of (await verb.warn?.(connection, resource)) ?? [])
    terminal.stderr.write(`${cleanText(sentence)}\n`)
  if (flags.explain && !flags.json && !flags.jsonl) {
    const { codesIn, explainCodes } = await import('./output/explain-codes.ts')
    explainCodes(terminal.stdout, new Set(codesIn(desc, resource)))
  }
  await demandDone(verb, resource)
}

/** Throws `CommandError` 1 when the result says that the act was refused after all. */
async function demandDone({ refused_by }: Verb, resource: Message): Promise<void> {
  const code = refused_by === undefined ? 0 : Number(Reflect.get(resource, camel(refused_by)))
  if (code === 0) return
  const { ERROR_TABLE, isErrorCode } = await import('#lib/contract/errors/error-table.ts')
  const why = isErrorCode(code) ? `: ${ERROR_TABLE[code].message}` : ''
  throw new CommandError(
    1,
    `refused ${code}: the approved call was carried out, and it changed nothing${why}`,
  )
}

/** The flags of an update with the currency of what it changes, so that amounts are in it and cannot name another one. */
async function withCurrency(
  verb: Verb,
  service: DescService,
  id: string | undefined,
  flags: Flags,
  connection: Connection,
): Promise<Flags> {
  const { currency_from } = verb
  if (currency_from === undefined || !givesAmount(methodOf(service, verb), flags)) return flags
  const method = methodOf(service, { rpc: currency_from })
  const reading = {
    name: verb.name,
    about: '',
    rpc: currency_from,
    ...(verb.id !== undefined && { id: verb.id }),
  }
  const answer = await connection.call(method, requestOf(method, reading, id, {}))
  const [, resource] = resourceOf(method.output, answer)
  return { ...flags, currency: String(Reflect.get(resource, 'currency')) }
}

/** Uploads the file of `--file`, unless the id of an uploaded one is given, and fills its field of the request. */
async function upload(
  field: string,
  connection: Connection,
  id: string,
  request: Message,
  { file, operationId }: Flags,
  terminal: Terminal,
): Promise<void> {
  const name = camel(field)
  if (typeof file !== 'string') {
    if (Reflect.get(request, name) === '')
      throw new CommandError(2, `give --file PATH, or --${flagName(field)} of a file that is uploaded`)
    return
  }
  const { uploadEvidence } = await import('./call/upload-evidence.ts')
  const operation_id = typeof operationId === 'string' ? operationId : undefined
  Reflect.set(request, name, await uploadEvidence(connection, id, file, operation_id, terminal))
}

/** Whether an answer would have a new secret or token, had the act not been done before. */
function hasNoSecret(answer: Message): boolean {
  return ['secret', 'token'].some((name) => Reflect.get(answer, name) === '')
}

/** The flags that name the back office: `--url` is the field where the request has one. */
function accountFlags({ input }: DescMethodUnary, { url, ...others }: Flags): CommonFlags {
  const is_field = input.fields.some(({ name }) => name === 'url')
  const address = is_field ? others['backofficeUrl'] : url
  return typeof address === 'string' ? { ...others, url: address } : others
}

function isRowOfList(verb: Verb): verb is Verb & { readonly finds: string } {
  return verb.finds !== undefined && verb.finds !== 'payment'
}

/** What the command destroys; nothing when it does so only with another value of a field. */
function destroyedBy({ confirms }: Verb, request: Message): string | undefined {
  if (confirms === undefined || typeof confirms === 'string') return confirms
  return Reflect.get(request, confirms.field) === confirms.value ? confirms.what : undefined
}

async function callOf(
  verb: Verb,
  connection: Connection,
  method: DescMethodUnary,
  request: Message,
  id: string | undefined,
): Promise<Message> {
  if (verb.finds !== 'payment' || id === undefined) return connection.call(method, request)
  const { byAnyId } = await import('./call/find-payment.ts')
  return byAnyId(connection, id, 'payments show', (payment_id) => {
    Reflect.set(request, 'paymentId', payment_id)
    return connection.call(method, request)
  })
}

/** Asks the person at the terminal. Throws `CommandError` 2 when the answer is not yes, or when nobody can answer. */
async function confirm(what: string, terminal: Terminal): Promise<void> {
  if (terminal.stdin.isTTY !== true) throw new CommandError(2, `${what}: repeat it with --yes`)
  const { askYes } = await import('./prompt.ts')
  if (!(await askYes(`${what}. Go on?`, terminal))) throw new CommandError(2, 'nothing was done')
}
