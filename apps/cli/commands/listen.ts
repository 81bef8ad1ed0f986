import { create, toJson } from '@bufbuild/protobuf'
import {
  CallbackService,
  ListenToCallbacksRequestSchema,
} from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import { type PulledDelivery, PulledDeliverySchema } from '#gen/multihub/notifier/v1/listener_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { cleanText } from '#lib/contract/clean-text.ts'
import { openConnection } from '../call/connection.ts'
import { openCursorFile } from '../call/cursor-file.ts'
import { deliverCallback, isAuthentic, type LocalAnswer } from '../call/deliver-callback.ts'
import { followStream } from '../call/follow.ts'
import { ownMerchant } from '../call/own-merchant.ts'
import { findAccount } from '../call/profile.ts'
import { addCommonFlags, type CommonFlags } from '../request/common-flags.ts'
import { CommandError, type Terminal } from '../terminal.ts'
import type { DeclareCommand } from './command.ts'

interface ListenFlags extends CommonFlags {
  readonly forwardTo?: string
  readonly merchant?: string
  readonly events?: string
  readonly printSecret?: boolean
  readonly fromNow?: boolean
}

/** `multihub listen`: the callbacks of a merchant's test environment, each sent to a program on this machine. */
export const declare: DeclareCommand = (command, terminal) => {
  command
    .option(
      '--forward-to <url>',
      'the address on this machine that gets each callback, such as http://127.0.0.1:3000/hook',
    )
    .option('--merchant <id>', 'whose callbacks; your own merchant without it')
    .option('--events <event,...>', 'only these events')
    .option('--print-secret', 'print the secret that verifies the signatures, and end')
    .option('--from-now', 'forget where the last run stopped')
    .option('--reason <text>', 'why; it goes into the audit trail')
  addCommonFlags(command)
  command.action((flags: ListenFlags) => listen(flags, terminal))
}

async function listen(flags: ListenFlags, terminal: Terminal): Promise<void> {
  const target = checkTarget(flags.forwardTo)
  const account = findAccount(flags, terminal)
  const connection = openConnection(flags, terminal)
  const merchant_id = await ownMerchant(connection, flags.merchant)
  const cursor_file = openCursorFile('listen', [account.url, merchant_id, target?.href ?? ''], terminal)
  const openStream = (sinceCursor: string) =>
    connection.stream(
      CallbackService.method.listenToCallbacks,
      create(ListenToCallbacksRequestSchema, {
        merchantId: merchant_id,
        events: flags.events?.split(',').map((event) => event.trim()) ?? [],
        sinceCursor,
      }),
    )
  let is_resumed = false
  async function* open(cursor: string) {
    try {
      is_resumed = cursor !== ''
      yield* openStream(cursor)
    } catch (error) {
      if (!isUnknownCursor(error)) throw error
      terminal.stderr.write(LOST_TEXT)
      is_resumed = false
      yield* openStream('')
    }
  }
  const first_cursor = flags.fromNow || flags.printSecret ? '' : cursor_file.read()
  let secret = ''
  for await (const message of followStream(open, terminal, first_cursor)) {
    if (flags.printSecret) return void terminal.stdout.write(`${message.secret}\n`)
    const is_first = secret === ''
    secret = message.secret || secret
    for (const delivery of message.deliveries) {
      await handle(delivery, { secret, target, flags, terminal })
      cursor_file.write(delivery.cursor)
    }
    if (message.cursor !== '') cursor_file.write(message.cursor)
    if (is_first) terminal.stderr.write(beginText(merchant_id, is_resumed))
  }
}

const LOST_TEXT =
  'this system does not know how far this command had come: that was more than 24 hours ago, or the system was restored or set up anew. Callbacks since then may be lost; the next one comes first. The secret of the signatures may be a new one.\n'

function beginText(merchant_id: string, is_later: boolean): string {
  const where = is_later ? ', from where the last run stopped' : ''
  return `Listening for merchant ${merchant_id} (test)${where}. --print-secret shows the secret of the signatures. Ctrl-C ends; the next run goes on here.\n`
}

const isUnknownCursor = (error: unknown): boolean =>
  error instanceof CommandError && error.exit_code === 1 && error.message.includes('since_cursor')

function checkTarget(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new CommandError(2, '--forward-to takes an address such as http://127.0.0.1:3000/hook')
  return url
}

interface Handling {
  readonly secret: string
  readonly target: URL | undefined
  readonly flags: ListenFlags
  readonly terminal: Terminal
}

/** Shows a callback, and sends it to the target if there is one. */
async function handle(
  delivery: PulledDelivery,
  { secret, target, flags, terminal }: Handling,
): Promise<void> {
  const is_verified = isAuthentic(delivery, secret)
  const show = (answer?: LocalAnswer): void => {
    const line =
      flags.json || flags.jsonl
        ? jsonOf(delivery, is_verified, answer)
        : lineOf(delivery, is_verified, answerText(answer, target))
    terminal.stdout.write(`${line}\n`)
  }
  if (target === undefined) show()
  else await deliverCallback(delivery, target, show)
}

/** The callback with the names of its message, its body as text, and what the target answered. */
function jsonOf(delivery: PulledDelivery, verified: boolean, answer: LocalAnswer | undefined): string {
  const message = toJson(PulledDeliverySchema, delivery, { alwaysEmitImplicit: true }) as Record<
    string,
    unknown
  >
  return JSON.stringify({ ...message, body: textOf(delivery), verified, ...(answer && { answer }) })
}

function lineOf(delivery: PulledDelivery, is_verified: boolean, answer: string): string {
  const time = now().toISOString().slice(11, 23)
  const mark = is_verified ? '✓ verified' : '✗ NOT VERIFIED'
  return [time, delivery.event.padEnd(18), subjectOf(delivery), mark, answer]
    .filter((part) => part !== '')
    .map(cleanText)
    .join('  ')
}

function answerText(answer: LocalAnswer | undefined, target: URL | undefined): string {
  if (answer === undefined) return ''
  if (answer.kind === 'unreachable')
    return `nothing answers at ${target?.href}: ${answer.reason}; waiting for it`
  if (answer.kind === 'broke_off') return `→ no answer: ${answer.reason}  ${NEXT_TEXTS[answer.next]}`
  const { status, duration_ms, text, next } = answer
  const beginning = text.trim()
  const shown = beginning.length > 200 ? `${beginning.slice(0, 200)}…` : beginning
  return [`→ ${status}  ${duration_ms} ms`, shown, NEXT_TEXTS[next]].filter((part) => part !== '').join('  ')
}

const NEXT_TEXTS = { taken: '', sent_again: 'will be sent again', given_up: 'given up' }

function textOf({ body }: PulledDelivery): string {
  return Buffer.from(body ?? []).toString()
}

/** What the callback is about, as the merchant names it: the `c_id`, or the id of the delivery where there is none. */
function subjectOf(delivery: PulledDelivery): string {
  const [, name] = /"c_id":"((?:[^"\\]|\\.){1,128})"/.exec(textOf(delivery)) ?? []
  return name ?? delivery.deliveryId
}
