/** What is wrong in the evening of the day, beside what is wrong on every day. */
export type Fault = 'nothing' | 'callbacks' | 'declines' | 'slow_creates' | 'no_results'

const DAY_MIN = 1_440
/** The day and the same day of the week before, and what lies between them. */
export const DAYS = 8
const FAULT_MIN = { from: 19 * 60, to: 20 * 60 } as const

/** Payments per minute by the hour of the day: few at night, a peak at noon, a higher one in the evening. */
const PER_MINUTE = [
  0.3, 0.3, 0.3, 0.3, 0.3, 1, 5, 20, 40, 50, 60, 80, 120, 90, 70, 60, 70, 90, 150, 200, 200, 150, 40, 5,
]

/** One of the counters, and how much it grew in a minute. */
type Growth = Readonly<Record<string, number>>

/** A generator of numbers from 0 to 1, the same for the same seed. */
function numbersOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** How many of so many happen, each with this probability. */
function someOf(count: number, probability: number, next: () => number): number {
  let some = 0
  for (let one = 0; one < count; one += 1) if (next() < probability) some += 1
  return some
}

/** How often something happens that happens so often on average: a whole number, which varies. */
function about(mean: number, next: () => number): number {
  return someOf(Math.ceil(mean * 2), 0.5 * (mean / Math.ceil(mean)), next)
}

/** What a minute adds to each counter. One of a hundred payments is of a small merchant, whose payments all fail. */
function growthOf(minute: number, is_last_week: boolean, fault: Fault, next: () => number): Growth {
  const is_faulty = !is_last_week && minute >= FAULT_MIN.from && minute < FAULT_MIN.to
  const has = (wanted: Fault): boolean => is_faulty && fault === wanted
  // This week has a third less, and a sale for a quarter of an hour, in which five times as many pay.
  const is_sale = !is_last_week && minute >= 1_230 && minute < 1_245
  const mean = (PER_MINUTE[Math.floor(minute / 60)] ?? 0) * (is_last_week ? 1.5 : 1) * (is_sale ? 5 : 1)
  const begun = about(mean, next)
  const of_small_merchant = someOf(begun, 0.01, next)
  const out = about(mean / 10, next)
  const own: Record<string, number> = {}
  const ends = 'multihub_payment_seconds'
  let ended = 0
  for (const [account, part] of [
    ['bank-a', 0.6],
    ['bank-b', 1],
  ] as const) {
    const begun_here = someOf(begun - of_small_merchant - ended, part, next)
    ended += begun_here
    const rate = has('declines') && account === 'bank-b' ? 0.4 : 0.85
    const decided = has('no_results') ? someOf(begun_here, 0.3, next) : begun_here
    const paid = someOf(decided, rate, next)
    const failed = decided - paid + (account === 'bank-b' ? of_small_merchant : 0)
    for (const [status, count] of [
      ['success', paid],
      ['error', failed],
    ] as const) {
      const labels = `environment="production",direction="in",provider_account="${account}",status="${status}"`
      own[`${ends}_count{${labels}}`] = count
      own[`${ends}_bucket{${labels},le="600"}`] = someOf(count, 0.95, next)
    }
    const creates = `multihub_provider_call_seconds_count{provider_account="${account}",operation="create"`
    const unclear = someOf(begun_here, 0.01, next)
    own[`${creates},outcome="unknown"}`] = unclear
    own[`${creates},outcome="success"}`] = begun_here - unclear
  }
  const out_labels = 'environment="production",direction="out",provider_account="bank-a",status="success"'
  own[`${ends}_count{${out_labels}}`] = out
  own[`${ends}_bucket{${out_labels},le="600"}`] = someOf(out, 0.2, next)
  own['multihub_payments_created_total{environment="production",direction="in"}'] = begun
  own['multihub_payments_created_total{environment="production",direction="out"}'] = out
  const delivered = someOf(begun + out, has('callbacks') ? 0.03 : 0.97, next)
  // Last week the callbacks of many days were sent again within three hours.
  const is_replay = is_last_week && minute >= 600 && minute < 780
  const attempts = 'multihub_delivery_attempts_total'
  own[`${attempts}{environment="production",outcome="delivered"}`] = delivered * (is_replay ? 10 : 1)
  own[`${attempts}{environment="production",outcome="http_status"}`] = begun + out - delivered
  // Developers try their integrations all day, as many in this week as in the week before.
  own[`${attempts}{environment="test",outcome="delivered"}`] = 100
  own['multihub_dead_deliveries_total{environment="production",cause="failures"}'] = someOf(
    begun,
    0.002,
    next,
  )
  return { ...own, ...requestsOf(begun, has('slow_creates'), next) }
}

/**
 * The requests of a minute. Each thousandth is answered with 2002, and at night each is a large part of all. A method and a service
 * with few requests fail more often, but too few times to wake anybody.
 */
function requestsOf(begun: number, is_slow: boolean, next: () => number): Growth {
  const failed = someOf(begun, 0.001, next)
  const good = begun - failed
  const fast = someOf(good, is_slow ? 0.5 : 0.96, next)
  const few = someOf(begun, 0.02, next)
  const few_failed = someOf(few, 0.02, next)
  // A batch that waits is a large part of the batches of a night.
  const quick = someOf(begun, 0.999, next)
  const ledger = 'multihub_ledger_command_seconds_bucket'
  const requests = 'multihub_gateway_request_seconds'
  return {
    [`${requests}_count{method="payment.in",code="2002"}`]: failed,
    [`${requests}_count{method="payment.in",code="ok"}`]: good,
    [`${requests}_bucket{method="payment.in",code="ok",le="1"}`]: fast,
    [`${requests}_bucket{method="payment.in",code="ok",le="2.5"}`]: is_slow ? fast : good,
    [`${requests}_bucket{method="payment.in",code="ok",le="10"}`]: good,
    [`${requests}_bucket{method="payment.in",code="ok",le="+Inf"}`]: good,
    [`${requests}_count{method="ticket.list",code="2001"}`]: few_failed,
    [`${requests}_count{method="ticket.list",code="ok"}`]: few - few_failed,
    [`${ledger}{le="1"}`]: quick,
    [`${ledger}{le="5"}`]: begun,
    [`${ledger}{le="+Inf"}`]: begun,
    'multihub_rpc_seconds_count{service="support",code="Internal"}': few_failed,
    'multihub_rpc_seconds_count{service="support",code="Ok"}': few - few_failed,
    'multihub_rpc_seconds_count{service="payments",code="Internal"}': someOf(begun, 0.0005, next),
    'multihub_rpc_seconds_count{service="payments",code="Ok"}': begun * 5,
  }
}

/** The series of a system for a day and the same day of the week before, one value per minute. Processes restart at noon. */
export function seriesOfDay(namespace: string, fault: Fault): readonly object[] {
  const next = numbersOf(20_261_129)
  const totals = new Map<string, number>()
  const values = new Map<string, string[]>()
  for (const is_last_week of [true, false]) {
    if (!is_last_week) for (const list of values.values()) list.push(`_x${(DAYS - 2) * DAY_MIN}`)
    for (let minute = 0; minute < DAY_MIN; minute += 1) {
      if (minute === DAY_MIN / 2) totals.clear()
      for (const [name, growth] of Object.entries(growthOf(minute, is_last_week, fault, next))) {
        const total = (totals.get(name) ?? 0) + growth
        totals.set(name, total)
        const list = values.get(name) ?? []
        list.push(String(total))
        values.set(name, list)
      }
    }
  }
  return [...values].map(([name, list]) => ({
    series: name.replace('{', `{namespace="${namespace}",instance="a",`),
    values: list.join(' '),
  }))
}
