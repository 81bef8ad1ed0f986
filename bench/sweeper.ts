import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fromBinary } from '@bufbuild/protobuf'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { clock, now, sleep } from '#lib/base/time.ts'
import { RECEIPT_SUBJECT_HEADER } from '#lib/bus/authentication.ts'
import { ALL_EVENTS_SUBJECT } from '#lib/contract/events.ts'
import { withDueTimes } from '#lib/patterns/effects/effect.ts'
import { createReceiptSender } from '#lib/patterns/effects/publish-on-bus.ts'
import { slotOf } from '#lib/patterns/effects/slots.ts'
import type { Collection } from '#lib/store/store.ts'
import { role as balances } from '../services/balances/service.ts'
import { role as merchants } from '../services/merchants/service.ts'
import type { Payment, StoredPayment } from '../services/payments/domain/payment.ts'
import { pollProviderEffect } from '../services/payments/domain/payment-effects.ts'
import { transition } from '../services/payments/domain/transition.ts'
import { newDeposit } from '../services/payments/payment.fixture.ts'
import { role as payments } from '../services/payments/service.ts'
import { keyOfPayment } from '../services/payments/store/payments.ts'
import { openPaymentsStore } from '../services/payments/store/payments-store.ts'
import { startRoles, type TestRoles } from '../test/support/roles.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf } from './rounds.ts'

const POLLS = 3_000
/** Polls that must wait for the provider before the measurement begins: as many as one account may have at once. */
const HANGING_POLLS = 128
const COMPLETIONS = 20
const ROUNDS = 3
const GOAL = { at_most: 2_000 }

/** The longest times, in milliseconds, from the write of a completed payment until its credit and its event are done. */
interface Slowest {
  readonly credit_ms: number
  readonly event_ms: number
}

/**
 * `sweeper`: how long the sweeper takes for the ledger credit and the event of a completed payment that a crash left,
 * while 3,000 polls of a provider that never answers are due. The baseline is the same without these polls.
 */
export async function run(): Promise<BenchResult[]> {
  const rounds = await measureAlternately('sweeper', ROUNDS, {
    ours: () => measureCompletions(POLLS),
    baseline: () => measureCompletions(0),
  })
  const common = { unit: 'ms', goal: GOAL }
  return [
    {
      name: 'sweeper.credit while 3,000 polls hang, slowest',
      ...common,
      ...medianOf(rounds, ({ credit_ms }) => credit_ms, 'lower'),
    },
    {
      name: 'sweeper.event while 3,000 polls hang, slowest',
      ...common,
      ...medianOf(rounds, ({ event_ms }) => event_ms, 'lower'),
    },
  ]
}

/** Starts the services with `polls` due polls and a provider that never answers, and completes payments. */
async function measureCompletions(polls: number): Promise<Slowest> {
  let hanging = 0
  const provider = createServer(() => {
    hanging += 1
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const { port } = provider.address() as AddressInfo
  const roles = await startServices(join(directory, 'providers.json'), `http://127.0.0.1:${port}`)
  try {
    await sendReceipts(roles)
    const { payments: collection } = await openPaymentsStore(roles.storeOf('payments'), roles.keys)
    await Promise.all(Array.from({ length: polls }, () => collection.insert(withDuePoll())))
    while (hanging < Math.min(polls, HANGING_POLLS)) await sleep(5)
    const slowest = { credit_ms: 0, event_ms: 0 }
    for (let completed = 0; completed < COMPLETIONS; completed += 1) {
      const { credit_ms, event_ms } = await completionTimes(collection)
      slowest.credit_ms = Math.max(slowest.credit_ms, credit_ms)
      slowest.event_ms = Math.max(slowest.event_ms, event_ms)
    }
    return slowest
  } finally {
    await roles[Symbol.asyncDispose]()
    provider.close()
    provider.closeAllConnections()
    await rm(directory, { recursive: true, force: true })
  }
}

async function startServices(providers_file: string, base_url: string): Promise<TestRoles> {
  const account = {
    account_id: 'first',
    connector: 'sandbox',
    environment: 'test',
    base_url,
    key: randomHex(32),
  }
  await writeFile(providers_file, JSON.stringify({ accounts: [account] }))
  return startRoles([merchants, balances, payments], {
    MULTIHUB_PROVIDER_PORT: '0',
    MULTIHUB_PROVIDERS_FILE: providers_file,
  })
}

/** Confirms each event, as the notifier does. */
async function sendReceipts({ bus }: TestRoles): Promise<void> {
  const receipts = createReceiptSender(bus, testKeys().receipt)
  await bus.subscribe(ALL_EVENTS_SUBJECT, ({ data, headers }) =>
    receipts.send(headers[RECEIPT_SUBJECT_HEADER] ?? '', fromBinary(MerchantEventSchema, data).eventKey),
  )
}

/** A payment in progress, with the same start for all payments of the benchmark. */
function newPayment(): Payment {
  const id = uuidv7()
  const created_at = now()
  const attempt = { number: 1, account_id: 'first', created_at }
  const ids = { c_id: id, payment_id: id, h_id: id }
  const payment = newDeposit({ ...ids, status: 'processing', attempt, created_at, effects: [] })
  return { ...payment, slot: slotOf(keyOfPayment(payment)) }
}

function withDuePoll(): Payment {
  const payment = newPayment()
  const at = now()
  return withDueTimes({ ...payment, effects: [pollProviderEffect.newEffect(payment, {}, { at })] }, at)
}

/** Stores a completed payment whose effects are not leased, and waits until the sweeper has run them. */
async function completionTimes(collection: Collection<StoredPayment>): Promise<Slowest> {
  const at = now()
  const completed = withDueTimes(transition(newPayment(), 'success', { at }), at)
  const lanes = async (): Promise<ReadonlySet<string>> => {
    const stored = await collection.get(keyOfPayment(completed))
    return new Set(stored?.effects.map(({ lane }) => lane))
  }
  await collection.insert(completed)
  const began_ms = clock.monotonic_ms()
  while ((await lanes()).has('money')) await sleep(2)
  const credit_ms = clock.monotonic_ms() - began_ms
  while ((await lanes()).size > 0) await sleep(2)
  return { credit_ms, event_ms: clock.monotonic_ms() - began_ms }
}
