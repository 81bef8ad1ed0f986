import { create, type Message } from '@bufbuild/protobuf'
import {
  CallbackService,
  type TriggerEventResponse,
} from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import { GetTimelineRequestSchema, TimelineService } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { type Credential, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import {
  CredentialService,
  ListCredentialsRequestSchema,
} from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { clock } from '#lib/base/time.ts'
import { cleanText } from '#lib/contract/clean-text.ts'
import type { EventName } from '#lib/contract/events.ts'
import { type Connection, openConnection } from '../call/connection.ts'
import { ownMerchant } from '../call/own-merchant.ts'
import { sayingHowToRepeat } from '../call/repeating.ts'
import { jsonOf } from '../output/print.ts'
import { addCommonFlags, type CommonFlags } from '../request/common-flags.ts'
import { addFieldFlags, requestOf } from '../request/flags.ts'
import { CommandError, type Terminal } from '../terminal.ts'
import type { DeclareCommand } from './command.ts'
import { printTimeline } from './timeline.ts'

/** What each event means, then the values that `--status` takes; the first one is the default. */
export const EVENTS: { readonly [E in EventName]: readonly [about: string, ...statuses: string[]] } = {
  'payment.created': ['a deposit begins', 'created'],
  'payment.completed': ['a deposit is paid', 'success'],
  'payment.failed': ['a deposit is refused, or its time is over', 'error', 'declined'],
  'payment.cancelled': ['the customer cancels a deposit', 'canceled'],
  'payment.refunded': ['a deposit is paid back, whole or in part', 'refunded', 'partially_refunded'],
  'refund.requested': ['a refund waits for the operator', 'pending'],
  'refund.status_changed': [
    'the operator decides about a refund',
    'completed',
    'approved',
    'rejected',
    'canceled',
    'failed',
  ],
  'chargeback.created': ['the bank takes a deposit back', 'open'],
  'ticket.created': ['a ticket is opened', 'open'],
  'ticket.updated': ['its description changes', 'open'],
  'ticket.comment.created': ['the operator answers', 'open'],
  'ticket.reopened': ['a resolved ticket is opened again', 'open'],
  'ticket.status_changed': [
    'the operator moves a ticket',
    'in_progress',
    'waiting_customer',
    'on_hold',
    'resolved',
    'closed',
    'canceled',
  ],
}

const VERB = { name: 'trigger', about: '', rpc: 'triggerEvent', id: 'event' }

/** How long an event is waited for: as long as a route of the demonstration needs to expire, and more. */
const WAIT_MAX_MS = 90_000

interface TriggerFlags extends CommonFlags {
  readonly merchant?: string
  readonly merchantId?: string
  readonly application?: string
  readonly applicationId?: string
}

/** `multihub trigger EVENT`: makes an event of a test environment happen, and shows all that it made. */
export const declare: DeclareCommand = (command, terminal) => {
  command.argument('[EVENT]', 'the name of a callback, such as payment.completed')
  addFieldFlags(command, CallbackService.method.triggerEvent, VERB)
  command
    .option('--currency <code>', 'the currency of --amount, when the amount does not name it')
    .option('--reason <text>', 'why; it goes into the audit trail')
  addCommonFlags(command)
  command.addHelpText('after', `\nEvents:\n${eventsText()}`)
  command.action((event: string | undefined) => trigger(event, command.opts(), terminal))
}

/** The table of the events, one per line. */
function eventsText(): string {
  const lines = Object.entries(EVENTS).map(([name, [about, ...statuses]]) => {
    const choice = statuses.length > 1 ? `  --status ${statuses.join('|')}` : ''
    return `  ${name.padEnd(23)} ${about}${choice}`
  })
  return lines.join('\n')
}

async function trigger(event: string | undefined, flags: TriggerFlags, terminal: Terminal): Promise<void> {
  if (event === undefined || !Object.hasOwn(EVENTS, event)) {
    const problem = event === undefined ? 'trigger needs an event' : `there is no event ${event}`
    throw new CommandError(2, `${problem}:\n${eventsText()}`)
  }
  const connection = openConnection(flags, terminal)
  const merchant = await ownMerchant(connection, flags.merchant ?? flags.merchantId)
  const application =
    flags.application ?? flags.applicationId ?? (await chooseApplication(connection, merchant))
  const request = requestOf(CallbackService.method.triggerEvent, VERB, event, {
    ...flags,
    merchant,
    application,
  })
  const { stdout } = terminal
  const { triggerEvent } = CallbackService.method
  const made = await sayingHowToRepeat(triggerEvent, request, terminal, () =>
    untilHappened(connection, request, terminal),
  )
  if (flags.json || flags.jsonl)
    stdout.write(`${jsonOf(triggerEvent.output, made, flags.json ? 2 : undefined)}\n`)
  else await show(connection, made, flags, terminal)
  if (made.pending)
    throw new CommandError(
      1,
      `the event has not happened yet: the same command with --operation-id ${Reflect.get(request, 'operationId')} waits longer`,
    )
}

/** Calls again under the same operation id while the event has not happened. */
async function untilHappened(
  connection: Connection,
  request: Message,
  { stderr }: Terminal,
): Promise<TriggerEventResponse> {
  const until_ms = clock.monotonic_ms() + WAIT_MAX_MS
  for (let calls = 1; ; calls += 1) {
    const made = await connection.call(CallbackService.method.triggerEvent, request)
    if (!made.pending || clock.monotonic_ms() > until_ms) return made
    if (calls === 1) stderr.write('the event has not happened yet; waiting\n')
  }
}

/** The first active application of the test environment. */
async function chooseApplication(connection: Connection, merchantId: string): Promise<string> {
  const { listCredentials } = CredentialService.method
  const request = create(ListCredentialsRequestSchema, { merchantId })
  const { credentials } = await connection.call(listCredentials, request)
  const chosen = credentials.find(
    ({ environment, status }: Credential) =>
      environment === Environment.TEST && status === CredentialStatus.ACTIVE,
  )
  if (chosen === undefined)
    throw new CommandError(2, 'the merchant has no active application of the test environment')
  return chosen.applicationId
}

/** Prints what was made: the ids, then the timeline of the payment. */
async function show(
  connection: Connection,
  { references, cId }: TriggerEventResponse,
  flags: TriggerFlags,
  { stdout }: Terminal,
): Promise<void> {
  const width = Math.max(...references.map(({ kind }) => kind.length), 'c_id'.length)
  for (const { kind, id, title } of references)
    stdout.write(`${kind.padEnd(width)}  ${id}  ${cleanText(title)}\n`)
  stdout.write(`${'c_id'.padEnd(width)}  ${cleanText(cId)}\n`)
  const payment = references.find(({ kind }) => kind === 'payment')
  if (payment === undefined) return
  const request = create(GetTimelineRequestSchema, { paymentId: payment.id })
  const timeline = await connection.call(TimelineService.method.getTimeline, request)
  stdout.write('\n')
  printTimeline(stdout, timeline, flags.minor === true)
}
