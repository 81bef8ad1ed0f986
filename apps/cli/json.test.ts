import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DescMessage, fromJson, type JsonValue, toJson } from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Command } from 'commander'
import { TriggerEventResponseSchema } from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import { GetOverviewResponseSchema } from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import { PrincipalSchema } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { GetTimelineResponseSchema } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { ReferenceSchema } from '#gen/multihub/common/v1/reference_pb.ts'
import { ExchangeSchema } from '#gen/multihub/gateway/v1/exchange_pb.ts'
import { PulledDeliverySchema } from '#gen/multihub/notifier/v1/listener_service_pb.ts'
import { RefundSchema } from '#gen/multihub/support/v1/refund_pb.ts'
import { RIGHTS } from '../../services/backoffice/domain/rights.ts'
import { type ActsWorld, STUCK, startActsWorld } from '../../test/integration/kept-acts.fixture.ts'
import type { Verb } from './nouns/noun.ts'
import { NOUNS } from './nouns.ts'
import { rowsField } from './output/print.ts'
import { createProgram } from './program.ts'
import { type RunOptions, runHere } from './run-command.fixture.ts'
import { methodOf } from './run-list.ts'

type Words = readonly string[]
type Row = Words | ((world: ActsWorld) => Promise<Words> | Words)

let world: ActsWorld
let home: string
let token: string
let other_token: string
beforeAll(async () => {
  world = await startActsWorld()
  home = mkdtempSync(join(tmpdir(), 'multihub-json-'))
  token = (await world.newPrincipal(RIGHTS)).token
  other_token = (await world.newPrincipal(['money'])).token
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  rmSync(home, { recursive: true })
})

function run(words: Words, by = token, options: Partial<RunOptions> = {}) {
  const variables = {
    MULTIHUB_URL: world.system.roles.urls['backoffice_url'] ?? '',
    MULTIHUB_TOKEN: by,
    HOME: home,
  }
  return runHere(words, { variables, directory: home, ...options })
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads any part of an answer
async function json(...words: Words): Promise<any> {
  return JSON.parse((await run([...words, '--json'])).out)
}

const ofMerchant: Row = (world) => ['--merchant', world.merchant_id]
const ofScope: Row = (world) => ['--merchant', world.merchant_id, '--environment', 'test']

/** A settlement that waits for the second person. */
async function proposal(world: ActsWorld): Promise<string> {
  const settle = ['balances', 'settle', '--merchant', world.merchant_id, '--environment', 'test']
  const { err } = await run([...settle, '--currency', 'INR'], other_token)
  return /approvals approve (\S+)/.exec(err)?.[1] ?? ''
}

async function triggerWords(world: ActsWorld): Promise<Words> {
  const { application_id } = await world.credential()
  return ['ticket.created', '--merchant', world.merchant_id, '--application', application_id]
}

const REASON = ['--reason', 'because of a test']

/**
 * For each command with `--json`, the words after its name, for an act that is really done and a list that has rows. A new command needs
 * its row here. The rows run in their order.
 */
const ROWS: Readonly<Record<string, Row>> = {
  'merchants list': [],
  'merchants show': (world) => [world.merchant_id],
  'merchants create': ['--name', 'beta', '--timezone', 'UTC', '--environments', 'test'],
  'merchants update': (world) => [world.merchant_id, '--timezone', 'UTC'],
  'merchants erase-person': async (world) => [
    world.merchant_id,
    ...['--payment-id', (await world.payment()).payment_id, '--yes'],
  ],
  'credentials list': ofMerchant,
  'credentials show': async (world) => [(await world.credential()).application_id],
  'credentials create': (world) => [
    ...['--merchant', world.merchant_id, '--environment', 'test', '--api-version', 'v2'],
    ...['--rate-limits', 'payment.in=5'],
  ],
  'credentials update': async (world) => [(await world.credential()).application_id, '--daily-limit', '9'],
  'credentials rotate': async (world) => [(await world.credential()).application_id],
  'routes list': ofMerchant,
  'routes show': (world) => [world.service_id],
  'routes create': (world) => [
    ...['--merchant', world.merchant_id, '--environment', 'test', '--direction', 'out', '--method', 'imps'],
    ...['--currency', 'INR', '--connector', 'sandbox', '--provider-account', 'sandbox'],
    ...['--payout-limits', 'daily=1000'],
  ],
  'routes update': (world) => [world.service_id, '--expires-in-seconds', '900'],
  'routes explain': (world) => [world.service_id, '--merchant', world.merchant_id, '--amount', '5 INR'],
  'endpoints list': async (world) => {
    await world.endpoint()
    return ['--merchant', world.merchant_id]
  },
  'endpoints show': async (world) => [await world.endpoint()],
  'endpoints create': (world) => [
    ...['--merchant', world.merchant_id, '--environment', 'test'],
    ...['--url', 'https://shop.example/hook', '--events', 'payment.completed'],
  ],
  'endpoints update': async (world) => [await world.endpoint(), '--timeout-seconds', '7'],
  'endpoints rotate': async (world) => [await world.endpoint()],
  'endpoints test': async (world) => [await world.endpoint()],
  'payments list': ofMerchant,
  'payments show': async (world) => [(await world.payment()).payment_id],
  'payments refusals': ofMerchant,
  'balances list': ofScope,
  'balances entries': ofScope,
  'balances entry': async (world) => {
    const scope = ['--merchant', world.merchant_id, '--environment', 'test']
    const [entry] = await json('balances', 'entries', ...scope)
    return [entry.entryId, ...scope]
  },
  'balances adjust': (world) => [
    ...['--merchant', world.merchant_id, '--environment', 'test', '--amount', '5 INR', ...REASON],
  ],
  'balances settle': (world) => [
    ...['--merchant', world.merchant_id, '--environment', 'test', '--currency', 'INR'],
  ],
  'balances verify': [],
  'balances verification': [],
  'balances resume': async (world) => {
    const { shard, verificationId, sequence } = await world.stoppedShard()
    return [`${shard}`, '--verification-id', verificationId, '--sequence', sequence, ...REASON]
  },
  'refunds list': async (world) => {
    await world.refund()
    return ['--merchant', world.merchant_id]
  },
  'refunds show': async (world) => [await world.refund()],
  'refunds approve': async (world) => [await world.refund()],
  'refunds reject': async (world) => [await world.refund(), ...REASON],
  'refunds cancel': async (world) => [await world.refund(), ...REASON],
  'refunds answer': async (world) => [await world.refund(), '--body', 'soon'],
  'refunds comments': async (world) => {
    const id = await world.refund()
    await run(['refunds', 'answer', id, '--body', 'soon'])
    return [id]
  },
  'chargebacks list': async (world) => {
    await world.chargeback()
    return ['--merchant', world.merchant_id]
  },
  'chargebacks show': async (world) => [await world.chargeback()],
  'chargebacks open': async (world) => [
    (await world.payment()).payment_id,
    ...['--amount', '5 INR', '--reason-code', '10.4'],
  ],
  'chargebacks move': async (world) => [await world.chargeback(), '--status', 'under_review'],
  'chargebacks add-evidence': async (world) => {
    const file = join(home, 'letter.txt')
    writeFileSync(file, 'what the payer wrote\n')
    return [await world.chargeback(), '--file', file]
  },
  'tickets list': async (world) => {
    await world.ticket()
    return ['--merchant', world.merchant_id]
  },
  'tickets show': async (world) => [await world.ticket()],
  'tickets comments': async (world) => {
    const id = await world.ticket()
    await run(['tickets', 'answer', id, '--body', 'soon'])
    return [id]
  },
  'tickets answer': async (world) => [await world.ticket(), '--body', 'soon'],
  'tickets move': async (world) => [await world.ticket(), '--status', 'in_progress'],
  'tickets set-priority': async (world) => [await world.ticket(), '--priority', 'high'],
  'tickets delete': async (world) => [await world.ticket(), '--yes'],
  'anomalies list': async (world) => {
    await world.anomaly()
    return ['--merchant', world.merchant_id]
  },
  'anomalies show': async (world) => [await world.anomaly()],
  'anomalies resolve': async (world) => [
    await world.anomaly(),
    ...['--resolution', 'dismissed', '--note', 'nothing to do'],
  ],
  'stuck list': async (world) => {
    await world.stuckPayment()
    return []
  },
  'stuck retry': async (world) => [await world.stuckPayment(), '--effect-id', STUCK],
  'stuck list-support': async (world) => {
    await world.stuckTicket()
    return ['--documents', 'tickets']
  },
  'stuck retry-support': async (world) => [
    await world.stuckTicket(),
    ...['--documents', 'tickets', '--effect-id', STUCK],
  ],
  'deliveries list': ofMerchant,
  'deliveries show': async (world) => [await world.deadDelivery()],
  'deliveries replay': async (world) => [await world.deadDelivery(), '--queue-anyway'],
  'deliveries show-replay': async (world) => {
    const all = ['--merchant', world.merchant_id, '--queue-anyway', '--yes']
    return [(await json('deliveries', 'replay', ...all)).replayId]
  },
  'destinations list': async (world) => {
    await world.openDestination()
    return ['--state', 'open']
  },
  'destinations show': async (world) => [await world.openDestination()],
  'destinations probe': async (world) => [await world.openDestination()],
  'exchanges list': ofMerchant,
  'exchanges show': async (world) => [
    (await json('exchanges', 'list', '--merchant', world.merchant_id))[0].requestId,
  ],
  'approvals set-policy': [
    ...['--rpc', 'multihub.balances.v1.BalanceService/Settle', '--currency', 'INR', '--above', '0'],
  ],
  'approvals policies': [],
  'approvals list': async (world) => {
    await proposal(world)
    return []
  },
  'approvals show': async (world) => [await proposal(world)],
  'approvals approve': async (world) => [await proposal(world), ...REASON],
  'approvals reject': async (world) => [await proposal(world), ...REASON],
  'audit list': [],
  'audit show': async () => [(await json('audit', 'list'))[0].auditId],
  'audit verify': [],
  'operations list': [],
  'principals list': [],
  'principals show': async (world) => [(await world.newPrincipal(['read'])).id],
  'principals create': ['--name', 'reader', '--kind', 'program', '--rights', 'read'],
  'principals update': async (world) => [(await world.newPrincipal(['read'])).id, '--rights', 'support'],
  'principals rotate': async (world) => [(await world.newPrincipal(['read'])).id],
  'principals revoke': async (world) => [(await world.newPrincipal(['read'])).id, ...REASON, '--yes'],
  overview: [],
  search: (world) => [world.merchant_id],
  trigger: triggerWords,
  timeline: async (world) => [(await world.payment()).payment_id],
  whoami: [],
  'files get': async (world) => [
    await world.readyFile(),
    ...['--merchant', world.merchant_id, '--environment', 'test', '--out', join(home, 'copy.txt')],
  ],
  listen: ofMerchant,
  'logs tail': ofMerchant,
  'accounts list': [],
  'accounts list-unconfigured': [],
  'accounts show': ['sandbox'],
  'accounts drain': ['sandbox', ...REASON],
  'accounts disable': ['sandbox', ...REASON],
  'accounts enable': ['sandbox', ...REASON],
  'accounts confirm-moved': ['sandbox'],
}

/** What the commands print that are not verbs of a noun. `files get` prints two fields of an attachment. */
const MESSAGES: Readonly<Record<string, DescMessage>> = {
  overview: GetOverviewResponseSchema,
  search: ReferenceSchema,
  trigger: TriggerEventResponseSchema,
  timeline: GetTimelineResponseSchema,
  whoami: PrincipalSchema,
  listen: PulledDeliverySchema,
  'logs tail': ExchangeSchema,
}

/** Lists for which this system has no rows: no ledger has refused, and no command runs on the databases. */
const EMPTY: readonly string[] = ['accounts list-unconfigured', 'payments refusals', 'operations list']

/** Commands that go on until they are ended: what they say when they begin. */
const ENDLESS: Readonly<Record<string, string>> = { listen: 'Listening', 'logs tail': 'Watching' }

/** The message that a verb prints, or that each row of its list is. */
async function messageOf(title: string): Promise<DescMessage | undefined> {
  const [name = '', verb_name = ''] = title.split(' ')
  const entry = NOUNS.find((one) => one.name === name)
  if (entry === undefined) return MESSAGES[title]
  const { noun } = await entry.load()
  const verb = noun.verbs.find((one): one is Verb => one.name === verb_name)
  if (verb === undefined) return undefined
  const { output } = methodOf(await (verb.service ?? noun.service)(), verb)
  if (verb.columns !== undefined || (verb.finds !== undefined && verb.finds !== 'payment'))
    return rowsField(output).message
  const [field, ...more] = output.fields
  return more.length === 0 ? (field?.message ?? output) : output
}

/** All commands with `--json`, by their words. */
function titlesOf(command: Command, path: readonly string[] = []): readonly string[] {
  const inner = command.commands.flatMap((one) => titlesOf(one, [...path, one.name()]))
  return command.options.some(({ long }) => long === '--json') ? [path.join(' '), ...inner] : inner
}

/** Runs a command that does not end by itself until it has printed something. */
async function firstOf(words: Words, begun: string, act: () => Promise<unknown>): Promise<string> {
  const { out } = await run(words, token, {
    onOut: () => {
      throw new Error('seen')
    },
    onError: (text) => void (text.startsWith(begun) && act()),
  })
  return out
}

test('every command with --json has a row here', async () => {
  const silent = { write: () => undefined }
  const terminal = { variables: {}, directory: '', stdin: process.stdin, stdout: silent, stderr: silent }
  expect(Object.keys(ROWS).sort()).toEqual([...titlesOf(await createProgram([], terminal, true))].sort())
})

test.each(Object.entries(ROWS))('%s --json prints the fields of its message', async (title, row) => {
  const words = [...title.split(' '), ...(typeof row === 'function' ? await row(world) : row), '--json']
  const begun = ENDLESS[title]
  let out: string
  if (begun === undefined) {
    const ended = await run(words)
    expect(ended.code === 0 ? '' : ended.err).toBe('')
    out = ended.out
  } else out = await firstOf(words, begun, async () => run(['trigger', ...(await triggerWords(world))]))
  const printed = JSON.parse(out)
  if (title === 'files get')
    return expect(printed).toEqual({ attachmentId: words[2], sizeBytes: expect.stringMatching(/^\d+$/) })
  const desc = await messageOf(title)
  if (title === 'listen') {
    expect(printed.verified).toBe(true)
    delete printed.verified
    // The body as text is what a developer wants to read.
    printed.body = Buffer.from(printed.body).toString('base64')
  }
  const rows: readonly JsonValue[] = [printed].flat()
  expect(rows.length > 0).toBe(!EMPTY.includes(title))
  for (const one of rows) expect(asPrinted(desc as DescMessage, one)).toEqual(one)
})

test('an act on many prints what it would change, and then what it has changed', async () => {
  await world.refund()
  const approve = ['refunds', 'approve', '--merchant', world.merchant_id]
  const listed = await json(...approve, '--dry-run')
  const changed = await json(...approve, '--yes')
  expect(listed.length).toBeGreaterThan(0)
  expect(changed.map((one: { refundId: string }) => one.refundId)).toEqual(
    listed.map((one: { refundId: string }) => one.refundId),
  )
  for (const one of [...listed, ...changed]) expect(asPrinted(RefundSchema, one)).toEqual(one)
})

/** What programs read from a message: a name that it does not have, or a field that it lacks, makes a difference. */
function asPrinted(desc: DescMessage, printed: JsonValue): JsonValue {
  return toJson(desc, fromJson(desc, printed), { alwaysEmitImplicit: true })
}
