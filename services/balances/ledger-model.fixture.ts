import fc from 'fast-check'
import { adjustmentId, type Command, resolutionId } from './domain/command.ts'

/**
 * A second ledger, written from the rules and not from the code: plain maps, no batches, no store. The property tests
 * compare the real ledger with it.
 */
export interface LedgerModel {
  /** Returns `accepted`, the code of a refusal, or why no entry was recorded. */
  decide(command: Command): string
  balances(): Map<string, { available: bigint; held: bigint }>
  /** The sum of the open holds, by merchant and currency. */
  sumOfHolds(): Map<string, bigint>
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
  const balance = (owner: string, account: string): bigint => accounts.get(`${owner} ${account}`) ?? 0n

  function move({ owner, from, to, amount }: ModelMovement): boolean {
    const left = balance(owner, from) - amount
    const right = balance(owner, to) + amount
    if (left < INT64_MIN || right > INT64_MAX) return false
    accounts.set(`${owner} ${from}`, left)
    accounts.set(`${owner} ${to}`, right)
    return true
  }

  function decideNew(command: Command): string {
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
      return 'accepted'
    }
    const { kind, merchant_id, amount } = command
    const owner = `${merchant_id} ${command.currency}`
    if (kind === 'adjustment') {
      const [from, to] = amount > 0n ? ['adjustments', 'available'] : ['available', 'adjustments']
      return move({ owner, from, to, amount: amount > 0n ? amount : -amount }) ? 'accepted' : '6001'
    }
    if (amount <= 0n || amount > INT64_MAX) return 'malformed'
    if (kind === 'hold') {
      if (released_early.has(command.id)) return '8801'
      if (balance(owner, 'available') < amount) return '6004'
      if (!move({ owner, from: 'available', to: 'held', amount })) return '6001'
      open.set(command.id, { owner, merchant_id, amount })
      return 'accepted'
    }
    const is_refusable = command.debit === 'available' && command.credit !== 'chargebacks'
    if (is_refusable && balance(owner, 'available') < amount) return '6004'
    if (move({ owner, from: command.debit, to: command.credit, amount })) return 'accepted'
    return is_refusable ? '6001' : 'overflow'
  }

  return {
    decide(command) {
      const content = JSON.stringify(command, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
      const existing = results.get(command.id)
      if ('amount' in command && command.kind !== 'adjustment' && command.amount <= 0n) return 'malformed'
      if (existing) return existing.content === content ? existing.result : 'id_conflict'
      const result = decideNew(command)
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
  }
}

/** Three merchants of the same shard of the test environment, so that they share batches. */
export const MERCHANTS = ['1', '12', '31'] as const

/**
 * Generates commands over few merchants, ids and holds. So repeats, id conflicts, resolutions of open and of unknown
 * holds, and amounts near 64 bits are frequent.
 */
export function commands(size: { min: number; max: number }): fc.Arbitrary<Command[]> {
  const number = fc.integer({ min: 0, max: 40 })
  const amount = fc.oneof(
    { weight: 12, arbitrary: fc.bigInt({ min: 1n, max: 1_000n }) },
    { weight: 1, arbitrary: fc.bigInt({ min: 2n ** 62n, max: INT64_MAX }) },
    { weight: 1, arbitrary: fc.constantFrom(0n, -1n, INT64_MAX) },
  )
  const common = fc.record({
    merchant_id: fc.constantFrom(...MERCHANTS),
    currency: fc.constantFrom('INR', 'MXN'),
    number,
    amount,
  })
  const command = fc
    .tuple(fc.integer({ min: 0, max: 99 }), common)
    .map(([dice, fields]): Command => commandFrom(dice, fields))
  return fc.array(command, { minLength: size.min, maxLength: size.max })
}

function commandFrom(
  dice: number,
  fields: { merchant_id: string; currency: string; number: number; amount: bigint },
): Command {
  const { merchant_id, currency, number, amount } = fields
  const reason = 'property'
  if (dice < 25) {
    const id = `credit-${number}`
    return {
      kind: 'transfer',
      id,
      merchant_id,
      currency,
      debit: 'clearing',
      credit: 'available',
      amount,
      reason,
    }
  }
  if (dice < 55) return { kind: 'hold', id: `hold-${number}`, merchant_id, currency, amount, reason }
  if (dice < 80) {
    const hold_id = `hold-${number}`
    return {
      kind: dice < 68 ? 'capture' : 'release',
      id: resolutionId(hold_id),
      merchant_id,
      hold_id,
      reason,
    }
  }
  if (dice < 90) {
    const credit = dice < 86 ? 'chargebacks' : 'fees'
    return {
      kind: 'transfer',
      id: `${credit}-${number}`,
      merchant_id,
      currency,
      debit: 'available',
      credit,
      amount,
      reason,
    }
  }
  const operation_id = `op-${number}`
  const id = adjustmentId(merchant_id, operation_id)
  const signed = amount === 0n || dice < 95 ? amount || 1n : -amount
  return { kind: 'adjustment', id, merchant_id, operation_id, currency, amount: signed, reason }
}
