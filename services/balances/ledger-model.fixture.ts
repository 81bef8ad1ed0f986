import type { Command } from './domain/command.ts'
import { createWithdrawalModel, type ModelWithdrawal } from './withdrawal-model.fixture.ts'

/**
 * A second ledger, written from the rules and not from the code: plain maps, no batches, no store. The property tests
 * compare the real ledger with it.
 */
export interface LedgerModel {
  /** Decides at a time. Returns `accepted`, the code of a refusal, or why no entry was recorded. */
  decide(command: Command, time: Date): string
  balances(): Map<string, { available: bigint; held: bigint }>
  /** The sum of the open holds, by merchant and currency. */
  sumOfHolds(): Map<string, bigint>
  /** The withdrawals that are counted, less the released ones. */
  withdrawals(): readonly ModelWithdrawal[]
}

const INT64_MAX = 2n ** 63n - 1n
const INT64_MIN = -(2n ** 63n)

interface ModelMovement {
  readonly owner: string
  readonly from: string
  readonly to: string
  readonly amount: bigint
}

/** Creates a model without entries. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its functions share the books of the model
export function createModel(): LedgerModel {
  const accounts = new Map<string, bigint>()
  const results = new Map<
    string,
    { readonly command: Command; readonly content: string; readonly result: string }
  >()
  const open = new Map<
    string,
    { readonly owner: string; readonly merchant_id: string; readonly amount: bigint }
  >()
  const released_early = new Set<string>()
  const withdrawals = createWithdrawalModel()
  const balance = (owner: string, account: string): bigint => accounts.get(`${owner} ${account}`) ?? 0n

  function move({ owner, from, to, amount }: ModelMovement): boolean {
    const left = balance(owner, from) - amount
    const right = balance(owner, to) + amount
    if (left < INT64_MIN || right > INT64_MAX) return false
    accounts.set(`${owner} ${from}`, left)
    accounts.set(`${owner} ${to}`, right)
    return true
  }

  function decideNew(command: Command, time: Date): string {
    if (command.kind === 'capture' || command.kind === 'release') {
      const hold = open.get(command.hold_id)
      if (!hold && command.kind === 'release') {
        const known = results.get(command.hold_id)
        if (known?.command.merchant_id === command.merchant_id) return known.result
        if (known) return 'hold_not_open'
        released_early.add(command.hold_id)
        return '8801'
      }
      if (!hold || hold.merchant_id !== command.merchant_id) return 'hold_not_open'
      const to = command.kind === 'capture' ? 'clearing' : 'available'
      if (!move({ owner: hold.owner, from: 'held', to, amount: hold.amount })) return 'overflow'
      open.delete(command.hold_id)
      if (command.kind === 'release') withdrawals.release(command.hold_id)
      return 'accepted'
    }
    const owner = `${command.merchant_id} ${command.currency}`
    if (command.kind === 'settlement') {
      withdrawals.settle(owner)
      return 'accepted'
    }
    const { kind, merchant_id, amount } = command
    if (kind === 'adjustment') {
      const [from, to] = amount > 0n ? ['adjustments', 'available'] : ['available', 'adjustments']
      return move({ owner, from, to, amount: amount > 0n ? amount : -amount }) ? 'accepted' : '6001'
    }
    if (amount <= 0n || amount > INT64_MAX) return 'malformed'
    if (kind === 'hold') {
      if (released_early.has(command.id)) return '8801'
      if (balance(owner, 'available') < amount) return '6004'
      const refusal = command.limits && withdrawals.refusal(command, command.limits, time)
      if (refusal) return refusal
      if (!move({ owner, from: 'available', to: 'held', amount })) return '6001'
      open.set(command.id, { owner, merchant_id, amount })
      if (command.limits) withdrawals.add(command, command.limits, time)
      return 'accepted'
    }
    const is_refusable = command.debit === 'available' && command.credit !== 'chargebacks'
    if (is_refusable && balance(owner, 'available') < amount) return '6004'
    if (move({ owner, from: command.debit, to: command.credit, amount })) return 'accepted'
    return is_refusable ? '6001' : 'overflow'
  }

  return {
    decide(command, time) {
      const content = JSON.stringify({ ...command, limits: undefined }, (_, value) =>
        typeof value === 'bigint' ? `${value}n` : value,
      )
      const existing = results.get(command.id)
      if ('amount' in command && command.kind !== 'adjustment' && command.amount <= 0n) return 'malformed'
      if (existing) return existing.content === content ? existing.result : 'id_conflict'
      const result = decideNew(command, time)
      if (result === 'accepted' || /^\d/.test(result)) results.set(command.id, { command, content, result })
      return result
    },
    balances() {
      const owners = new Set([...accounts.keys()].map((name) => name.split(' ').slice(0, 2).join(' ')))
      return new Map(
        [...owners].map((owner) => [
          owner,
          { available: balance(owner, 'available'), held: balance(owner, 'held') },
        ]),
      )
    },
    sumOfHolds() {
      const sums = new Map<string, bigint>()
      for (const { owner, amount } of open.values()) sums.set(owner, (sums.get(owner) ?? 0n) + amount)
      return sums
    },
    withdrawals: withdrawals.list,
  }
}
