import { clock, sleep } from '#lib/base/time.ts'
import type { Direction } from '#lib/contract/payment-methods.ts'
import type { LoadClient } from '../load/client.ts'
import type { Load, LoadReport } from '../load/load.ts'
import { COMPLETED_VALUE, type PaymentServer, SANDBOX_DELAY_MS } from './servers.ts'

const COMPLETION_LIMIT_MS = 30_000

/** One side of a comparison: a server, and the direction of the payments that it gets. */
export interface Side {
  readonly server: PaymentServer
  readonly direction: Direction
}

/** What a load of payments has of its own. The rest has the defaults of the server. */
export interface PaymentLoadOptions
  extends Partial<Pick<Load, 'concurrency' | 'duration_ms' | 'requests_per_second'>> {
  /** Where callbacks about each payment go. */
  readonly webhook_url?: string
}

const PERSON = { first_name: 'Asha', last_name: 'Rao' }
const CONTACT = { email: 'asha.rao@example.com', phone: '+911234567890', person: PERSON }

/** What the two directions have of their own: the customer who pays, or the recipient. */
const PARTIES = {
  in: { payer: CONTACT },
  out: { receiver: { bank: { account: { id: '123456789012' }, ifsc: 'SBIN0001234' }, ...CONTACT } },
}

/** Creates payments of `value` minor units, each with a `c_id` of its own. */
export function paymentLoad(
  { server, direction }: Side,
  value: number,
  options: PaymentLoadOptions = {},
): Load {
  const { webhook_url, ...load } = options
  const payment = {
    identifiers: { c_id: 'order-{id}' },
    amount: { value, currency: 'INR' },
    ...PARTIES[direction],
    description: 'Two tickets',
    webhook_url,
  }
  const service_id = server.service_ids[direction]
  const body = JSON.stringify({ method: `payment.${direction}`, service_id, params: { payment } })
  return { ...server.load, ...load, body }
}

/**
 * Creates payments that the sandbox completes. The time lasts until the last completion, without the waiting time of the
 * sandbox, so that it includes all work. Throws when some are not completed within 30 s.
 */
export async function sendUntilCompleted(
  client: LoadClient,
  side: Side,
  options: PaymentLoadOptions = {},
): Promise<LoadReport> {
  const { server, direction } = side
  const before = await server.countCompleted(direction)
  const start_ms = clock.monotonic_ms()
  const report = await client.send(paymentLoad(side, COMPLETED_VALUE, options))
  const sent_ms = clock.monotonic_ms()
  while ((await server.countCompleted(direction)) - before < report.requests) {
    if (clock.monotonic_ms() - sent_ms > COMPLETION_LIMIT_MS)
      throw new Error(`some payments were not completed within ${COMPLETION_LIMIT_MS} ms`)
    await sleep(20)
  }
  const completed_ms = clock.monotonic_ms() - start_ms - SANDBOX_DELAY_MS
  return { ...report, elapsed_ms: Math.max(report.elapsed_ms, completed_ms) }
}
