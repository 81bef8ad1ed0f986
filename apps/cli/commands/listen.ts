import { createHmac } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import {
  CallbackService,
  ListenToCallbacksRequestSchema,
  type ListenToCallbacksResponse,
} from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import type { PulledDelivery } from '#gen/multihub/notifier/v1/listener_service_pb.ts'
import { constantTimeEqual, sha256Hex } from '#lib/base/crypto/hash.ts'
import { clock, elapsedSince, now, sleep } from '#lib/base/time.ts'
import { connect } from '../call/connection.ts'
import { followStream } from '../call/follow.ts'
import { forwardCallback, type LocalAnswer } from '../call/forward-callback.ts'
import { type Account, findAccount, profilesPath } from '../call/profile.ts'
import { cleanText } from '../output/clean-text.ts'
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

/** How often a callback is sent to a receiver that answers with an error, and the pause before the first repetition. */
const TRIES_MAX = 3
const PAUSE_MS = 1_000

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
  const connection = connect(account, flags.reason)
  const cursor_file = cursorPath(account, flags, terminal)
  const open = (sinceCursor: string): AsyncIterable<ListenToCallbacksResponse> =>
    connection.stream(
      CallbackService,
      CallbackService.method.listenToCallbacks,
      create(ListenToCallbacksRequestSchema, {
        merchantId: flags.merchant ?? '',
        events: flags.events?.split(',') ?? [],
        sinceCursor,
      }),
    ) as AsyncIterable<ListenToCallbacksResponse>
  const first_cursor = flags.fromNow || flags.printSecret ? '' : readCursor(cursor_file)
  let secret = ''
  for await (const message of followStream(open, terminal, first_cursor)) {
    if (message.secret !== '') {
      const is_first = secret === ''
      secret = message.secret
      if (flags.printSecret) {
        terminal.stdout.write(`${secret}\n`)
        return
      }
      if (is_first) terminal.stderr.write('Listening. Ctrl-C ends; the next run continues here.\n')
    }
    for (const delivery of message.deliveries) {
      const show = (line: string) => terminal.stdout.write(`${lineOf(delivery, secret, line)}\n`)
      if (target === undefined) show('')
      else await deliver(delivery, target, show)
      writeCursor(cursor_file, delivery.cursor)
    }
    if (message.cursor !== '') writeCursor(cursor_file, message.cursor)
  }
}

function checkTarget(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new CommandError(2, '--forward-to takes an address such as http://127.0.0.1:3000/hook')
  return url
}

/**
 * Sends a callback until the receiver takes it: for as long as nothing listens there, and three times when it answers with an error.
 * The last answer counts then, so that one callback with a fault in its receiver does not hold up the others.
 */
async function deliver(delivery: PulledDelivery, target: URL, show: (line: string) => void): Promise<void> {
  let is_waiting = false
  for (let tries = 1; ; ) {
    const started_ms = clock.monotonic_ms()
    const answer = await forwardCallback(target, delivery.headers, delivery.body ?? new Uint8Array())
    if (answer.kind === 'unreachable') {
      if (!is_waiting) show(`nothing listens at ${target.href}: ${answer.reason}; waiting for it`)
      is_waiting = true
      await sleep(PAUSE_MS)
      continue
    }
    is_waiting = false
    const took = `${answer.status}  ${Math.round(elapsedSince(started_ms))} ms`
    const is_taken = answer.status >= 200 && answer.status < 300
    const is_last = tries === TRIES_MAX
    show(
      `→ ${took}${is_taken ? '' : `  ${beginningOf(answer)}  ${is_last ? 'given up' : 'will be sent again'}`}`,
    )
    if (is_taken || is_last) return
    await sleep(PAUSE_MS * tries)
    tries += 1
  }
}

function beginningOf({ text }: Extract<LocalAnswer, { kind: 'answered' }>): string {
  const line = cleanText(text.trim())
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}

function lineOf(delivery: PulledDelivery, secret: string, rest: string): string {
  const time = now().toISOString().slice(11, 23)
  const mark = isAuthentic(delivery, secret) ? '✓ verified' : '✗ NOT VERIFIED'
  return [time, delivery.event.padEnd(18), delivery.deliveryId, mark, rest]
    .filter((part) => part !== '')
    .join('  ')
}

/** Whether signature V3 is right: HMAC-SHA512 over time, nonce, id and the exact body. */
function isAuthentic({ headers, body }: PulledDelivery, secret: string): boolean {
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const [timestamp, nonce, id, signature] = ['timestamp', 'nonce', 'id', 'signature-v3'].map(
    (name) => values.get(`x-webhook-${name}`) ?? '',
  )
  const expected = createHmac('sha512', secret)
    .update(`${timestamp}.${nonce}.${id}.`)
    .update(body ?? new Uint8Array())
    .digest('hex')
  return constantTimeEqual(signature ?? '', expected)
}

/** The file that remembers where a run stopped: one for each back office, token, merchant, events and target. */
function cursorPath({ url, token }: Account, flags: ListenFlags, terminal: Terminal): string {
  const key = [url, sha256Hex(token), flags.merchant ?? '', flags.events ?? '', flags.forwardTo ?? '']
  return join(dirname(profilesPath(terminal)), 'listen', sha256Hex(JSON.stringify(key)).slice(0, 32))
}

function readCursor(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** The file is replaced as a whole, so that a kill leaves either cursor. */
function writeCursor(path: string, cursor: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(`${path}.part`, cursor, { mode: 0o600 })
  renameSync(`${path}.part`, path)
}
