import type { HoldCommand } from './domain/command.ts'
import type { PayoutLimits } from './domain/payout-limits.ts'

const INT64_MAX = 2n ** 63n - 1n

/** A withdrawal with the day and the settlement period in which it is counted. `route` names its merchant too. */
export interface ModelWithdrawal {
  readonly hold_id: string
  readonly route: string
  readonly day: string
  readonly period: number
  readonly amount: bigint
}

/** The payout limits of the model: it keeps every withdrawal, and adds up those of a day, month or period anew. */
export interface WithdrawalModel {
  /** The code with which the limits refuse a withdrawal. */
  refusal(command: HoldCommand, limits: PayoutLimits, time: Date): string | undefined
  add(command: HoldCommand, limits: PayoutLimits, time: Date): void
  release(hold_id: string): void
  /** `owner` is the merchant and the currency. */
  settle(owner: string): void
  list(): readonly ModelWithdrawal[]
}

/** Creates the payout limits of a model without withdrawals. */
export function createWithdrawalModel(): WithdrawalModel {
  const periods = new Map<string, number>()
  const latest_days = new Map<string, string>()
  let withdrawals: ModelWithdrawal[] = []

  function toWithdrawal(
    { id: hold_id, merchant_id, currency, amount }: HoldCommand,
    { service_id, timezone }: PayoutLimits,
    time: Date,
  ): ModelWithdrawal {
    const owner = `${merchant_id} ${currency}`
    const route = `${owner} ${service_id}`
    const today = time.toLocaleDateString('sv-SE', { timeZone: timezone })
    const day = [today, latest_days.get(route) ?? today].sort()[1] ?? today
    return { hold_id, route, day, period: periods.get(owner) ?? 0, amount }
  }

  return {
    refusal(command, limits, time) {
      const withdrawal = toWithdrawal(command, limits, time)
      const { route, day, period } = withdrawal
      const all = [...withdrawals, withdrawal].filter((one) => one.route === route)
      const isAbove = (limit: bigint, isCounted: (one: ModelWithdrawal) => boolean): boolean =>
        sumOf(all.filter(isCounted)) > (limit === 0n ? INT64_MAX : limit)
      if (isAbove(limits.daily, (one) => one.day === day)) return '6006'
      if (isAbove(limits.monthly, (one) => one.day.slice(0, 7) === day.slice(0, 7))) return '6005'
      if (limits.maximum > 0n && command.amount > limits.maximum) return '6035'
      return isAbove(limits.since_settlement, (one) => one.period === period) ? '6035' : undefined
    },
    add(command, limits, time) {
      const withdrawal = toWithdrawal(command, limits, time)
      withdrawals.push(withdrawal)
      latest_days.set(withdrawal.route, withdrawal.day)
    },
    release(hold_id) {
      withdrawals = withdrawals.filter((one) => one.hold_id !== hold_id)
    },
    settle(owner) {
      periods.set(owner, (periods.get(owner) ?? 0) + 1)
    },
    list: () => withdrawals,
  }
}

/** The sum of the amounts of withdrawals. */
export function sumOf(withdrawals: readonly ModelWithdrawal[]): bigint {
  return withdrawals.reduce((sum, { amount }) => sum + amount, 0n)
}
