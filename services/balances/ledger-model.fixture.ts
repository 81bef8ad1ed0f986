import fc from 'fast-check'
import { adjustmentId, type Command, resolutionId } from './domain/command.ts'

/**
 * A second ledger, written from the rules and not from the code: plain maps, no batches, no store. The properties
 * hold the real one against it.
 */
export interface Model {
  /** `accepted`, a refusal's code, or why the command is not recorded. */
  decide(command: Command): string
  balances(): Map<string, { available: bigint; held: bigint }>
  /** What is held in open holds, by merchant and currency. */
  held(): Map<string, bigint>
}

const INT64_MAX = 2n ** 63n - 1n
const INT64_MIN = -(2n ** 63n)

interface Moved {
  readonly owner: string
  readonly from: string
  readonly to: string
  readonly amount: bigint
}

/** A model without any entry. */
export function createModel(): Model {
  const accounts = new Map<string, bigint>()
  const outcomes = new Map<string, { readonly content: string; readonly outcome: string }>()
  const open = new Map<
    string,
    { readonly owner: string; readonly merchant_id: string; readonly amount: bigint }
  >()
  const balance = (owner: string, account: string): bigint => accounts.get(`${owner} ${account}`) ?? 0n

  function move({ owner, from, to, amount }: Moved): boolean {
    const left = balance(owner, from) - amount
    const right = balance(owner, to) + amount
    if (left < INT64_MIN || right > INT64_MAX) return false
    accounts.set(`${owner} ${from}`, left)
    accounts.set(`${owner} ${to}`, right)
    return true
  }

  function carryOut(command: Command): string {
    if (command.kind === 'capture' || command.kind === 'release') {
      const hold = open.get(command.hold_id)
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
      if (balance(owner, 'available') < amount) return '6004'
      if (!move({ owner, from: 'available', to: 'held', amount })) return '6001'
      open.set(command.id, { owner, merchant_id, amount })
      return 'accepted'
    }
    const asks = command.debit === 'available' && command.credit !== 'chargebacks'
    if (asks && balance(owner, 'available') < amount) return '6004'
    if (move({ owner, from: command.debit, to: command.credit, amount })) return 'accepted'
    return asks ? '6001' : 'overflow'
  }

  return {
    decide(command) {
      const content = JSON.stringify(command, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
      const known = outcomes.get(command.id)
      if ('amount' in command && command.kind !== 'adjustment' && command.amount <= 0n) return 'malformed'
      if (known) return known.content === content ? known.outcome : 'id_conflict'
      const outcome = carryOut(command)
      if (outcome === 'accepted' || outcome.startsWith('6')) outcomes.set(command.id, { content, outcome })
      return outcome
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
    held() {
      const sums = new Map<string, bigint>()
      for (const { owner, amount } of open.values()) sums.set(owner, (sums.get(owner) ?? 0n) + amount)
      return sums
    },
  }
}

/** Merchants of ONE shard of the test environment, so that they share batches. */
export const MERCHANTS = ['1', '12', '31'] as const

/**
 * Commands over few merchants, ids and holds, so that repeats, conflicts, resolutions of what is there and of what is
 * not, and amounts at the edge of 64 bits all come up often.
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
    .map(([dice, fields]): Command => made(dice, fields))
  return fc.array(command, { minLength: size.min, maxLength: size.max })
}

function made(
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
