import { now } from '#lib/base/time.ts'
import type { Collection } from '#lib/store/store.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import type { Anomaly } from '../domain/anomaly.ts'
import type { StoredPayment } from '../domain/payment.ts'
import type { PaymentCount } from '../domain/payment-counts.ts'
import type { PaymentCounter } from './count-payments.ts'

/** What the summary needs. */
export interface SummarizePaymentsDeps {
  readonly payments: Collection<StoredPayment>
  readonly anomalies: Collection<Anomaly>
  readonly accounts: readonly ConnectedAccount[]
  readonly counter: Pick<PaymentCounter, 'read'>
}

/** How many wait, exactly up to 1,000, and since when the oldest does. */
export interface OpenItems {
  readonly count: number
  readonly oldest?: Date | undefined
}

/** What waits for the operator over all merchants, and how many payments entered which status. */
export interface PaymentsSummary {
  readonly open_anomalies: OpenItems
  readonly stuck_effects: OpenItems
  /** As this process sees the provider accounts. */
  readonly open_breakers: OpenItems
  readonly last_hour: readonly PaymentCount[]
  readonly last_day: readonly PaymentCount[]
  readonly computed_at: Date
}

/** A find reads at most this many. */
const COUNT_MAX = 1_000

/** Computes the summary: two reads of what is open, and the roll-ups of a day. */
export async function summarizePayments(deps: SummarizePaymentsDeps): Promise<PaymentsSummary> {
  const computed_at = now()
  const [anomalies, stuck, counts] = await Promise.all([
    deps.anomalies.find('by_open', {}, { limit: COUNT_MAX }),
    deps.payments.find('by_stuck', {}, { limit: COUNT_MAX }),
    deps.counter.read(computed_at),
  ])
  const breakers = deps.accounts.map(({ breaker }) => breaker.status())
  return {
    open_anomalies: openItems(anomalies.map(({ open_since }) => open_since)),
    stuck_effects: openItems(stuck.map(({ stuck_at }) => stuck_at)),
    open_breakers: openItems(breakers.filter(({ state }) => state !== 'closed').map(({ since }) => since)),
    ...counts,
    computed_at,
  }
}

function openItems(times: readonly (Date | undefined)[]): OpenItems {
  const known = times.flatMap((time) => time?.getTime() ?? [])
  return { count: times.length, oldest: known.length === 0 ? undefined : new Date(Math.min(...known)) }
}
