import { clock, sleep } from '#lib/base/time.ts'
import type { Direction } from '#lib/contract/payment-methods.ts'
import { V1_PATH } from '../../gateway/paths.ts'
import { type Demo, type MerchantClient, merchantClient } from '../../test/support/merchant.ts'
import { type LoadClient, startLoadClient } from '../load/client.ts'
import { startReceivers } from '../notifier/receivers.ts'

/** What a load has reached. */
export interface LoadResult {
  readonly payments: number
  /** From the first request until the last payment was in the ledger. */
  readonly elapsed_ms: number
  readonly p99_ms: number
}

/** A load of deposits and withdrawals; each is completed, booked and called back. */
export interface PaymentLoad {
  /** Resolves when all payments are in the ledger. */
  send(payments_per_second: number, duration_ms: number): Promise<LoadResult>
  stop(): void
}

/** Small, so that the opening balance pays for all withdrawals. */
const VALUE = 1_000
const RECEIVERS = 4
const CONCURRENCY = 64
const COMPLETION_LIMIT_MS = 120_000

const PERSON = { first_name: 'Asha', last_name: 'Rao' }
const CONTACT = { email: 'asha.rao@example.com', phone: '+911234567890', person: PERSON }
const PARTIES = {
  in: { payer: CONTACT },
  out: { receiver: { bank: { account: { id: '123456789012' }, ifsc: 'SBIN0001234' }, ...CONTACT } },
}

/** Starts the processes of the clients and receivers. One merchant gets the deposits, another one the withdrawals. */
export async function startPaymentLoad(demo: Demo): Promise<PaymentLoad> {
  const receivers = await startReceivers(RECEIVERS)
  // A client process sends one load at a time.
  const sides = [
    { client: await startLoadClient(), merchant: merchantClient(() => demo, 'alpha'), direction: 'in' },
    { client: await startLoadClient(), merchant: merchantClient(() => demo, 'beta'), direction: 'out' },
  ] as const
  return {
    async send(payments_per_second, duration_ms) {
      const start_ms = clock.monotonic_ms()
      const rate = payments_per_second / sides.length
      const loads = sides.map(({ client, merchant, direction }) => {
        const body = bodyOf(merchant, direction, receivers.healthy)
        return sendUntilBooked(client, demo, merchant, body, { rate, duration_ms })
      })
      // When one fails, the other one ends before the next load.
      await Promise.allSettled(loads)
      const sent = await Promise.all(loads)
      return {
        payments: sent.reduce((sum, { requests }) => sum + requests, 0),
        elapsed_ms: clock.monotonic_ms() - start_ms,
        p99_ms: Math.max(...sent.map(({ p99_ms }) => p99_ms)),
      }
    },
    stop() {
      for (const { client } of sides) client.stop()
      receivers.stop()
    },
  }
}

function bodyOf(merchant: MerchantClient, direction: Direction, urls: readonly string[]): string {
  const payment = {
    identifiers: { c_id: 'order-{id}' },
    amount: { value: VALUE, currency: 'INR' },
    ...PARTIES[direction],
    description: 'Two tickets',
    webhook_url: urls[direction === 'in' ? 0 : 1],
  }
  const service_id = merchant.route(direction === 'in' ? {} : { direction, method: 'imps' })
  return JSON.stringify({ method: `payment.${direction}`, service_id, params: { payment } })
}

async function sendUntilBooked(
  client: LoadClient,
  demo: Demo,
  merchant: MerchantClient,
  body: string,
  { rate, duration_ms }: { readonly rate: number; readonly duration_ms: number },
): Promise<{ readonly requests: number; readonly p99_ms: number }> {
  const before = await totalOf(merchant)
  const { application_id, secret } = merchant.credential
  const report = await client.send({
    port: Number(new URL(demo.base_url).port),
    path: V1_PATH,
    body,
    secret,
    application_id: String(application_id),
    concurrency: CONCURRENCY,
    duration_ms,
    requests_per_second: rate,
  })
  const end_ms = clock.monotonic_ms() + COMPLETION_LIMIT_MS
  while (Math.abs((await totalOf(merchant)) - before) < report.requests * VALUE) {
    if (clock.monotonic_ms() > end_ms) throw new Error('some payments were not completed in time')
    await sleep(50)
  }
  return report
}

/** All funds of a merchant. What is held for a withdrawal is still theirs. */
async function totalOf(merchant: MerchantClient): Promise<number> {
  const { value, value_freezing } = await merchant.balance()
  return value + value_freezing
}
