import { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'

/** How often payments of a route entered a status. */
interface StatusCount {
  readonly serviceId: string
  readonly status: PaymentStatus
  readonly count: bigint
}

/** How the payments of a time ended. */
export interface Success {
  readonly created: bigint
  readonly ended: bigint
  readonly good: bigint
}

/** Counts the payments that were created, that ended, and that ended well. */
export function successOf(counts: readonly StatusCount[]): Success {
  const sum = (...statuses: readonly PaymentStatus[]): bigint =>
    counts.reduce((total, { status, count }) => (statuses.includes(status) ? total + count : total), 0n)
  const good = sum(PaymentStatus.SUCCESS)
  return {
    created: sum(PaymentStatus.CREATED),
    ended: good + sum(PaymentStatus.ERROR, PaymentStatus.DECLINED, PaymentStatus.CANCELED),
    good,
  }
}

/** The share of the ended payments that ended well, such as `97.1 %`. */
export function shareText({ good, ended }: Success): string {
  return ended === 0n ? '–' : `${((Number(good) / Number(ended)) * 100).toFixed(1)} %`
}

/** The routes of two times, the busiest of the second first, each with how it went in both. */
export function routesOf(hour: readonly StatusCount[], day: readonly StatusCount[]) {
  const ids = [...new Set([...day, ...hour].map(({ serviceId }) => serviceId))]
  const of = (counts: readonly StatusCount[], id: string): Success =>
    successOf(counts.filter(({ serviceId }) => serviceId === id))
  return ids
    .map((service_id) => ({ service_id, hour: of(hour, service_id), day: of(day, service_id) }))
    .sort((a, b) => Number(b.day.created - a.day.created))
}

/** Whether the hour goes clearly worse than the day: by 5 points and at least 20 ended payments, so that chance is no alarm. */
export function isWorse(hour: Success, day: Success): boolean {
  const share = ({ good, ended }: Success): number => Number(good) / Number(ended)
  return hour.ended >= 20n && share(hour) < share(day) - 0.05
}

type Rate = ReturnType<typeof routesOf>[number]

/** The same by provider, as far as the provider of a route is known. */
export function providersOf(rates: readonly Rate[], providerOf: (service_id: string) => string | undefined) {
  const providers = new Map<string, { hour: Success; day: Success }>()
  for (const { service_id, hour, day } of rates) {
    const provider = providerOf(service_id)
    if (provider === undefined) continue
    const { hour: hours, day: days } = providers.get(provider) ?? { hour: NOTHING, day: NOTHING }
    providers.set(provider, { hour: add(hours, hour), day: add(days, day) })
  }
  return [...providers].map(([provider, sums]) => ({ provider, ...sums }))
}

const NOTHING: Success = { created: 0n, ended: 0n, good: 0n }

function add(a: Success, b: Success): Success {
  return { created: a.created + b.created, ended: a.ended + b.ended, good: a.good + b.good }
}
