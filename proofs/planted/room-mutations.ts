import type { Mutation } from './mutation.ts'

/** Faults in the room of a balance (E6.2), and in what follows when the ledger refuses a credit for want of it (P7.8). */
export const ROOM_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a deposit is accepted that the balance has no room for',
    file: 'services/payments/use-cases/balance-room.ts',
    search: 'balance.available + balance.held + amount <= INT64_MAX',
    replace: 'balance.available + balance.held <= INT64_MAX',
    has_full_balance: true,
  },
  {
    name: 'held funds take no room in a balance',
    file: 'services/payments/use-cases/balance-room.ts',
    search: 'balance.available + balance.held + amount <= INT64_MAX',
    replace: 'balance.available + amount <= INT64_MAX',
    has_full_balance: true,
  },
  {
    name: 'a deposit that fills a balance exactly is refused',
    file: 'services/payments/use-cases/balance-room.ts',
    search: 'amount <= INT64_MAX',
    replace: 'amount < INT64_MAX',
    has_full_balance: true,
  },
  {
    name: 'an entry that the ledger refuses is tried again and again',
    file: 'services/payments/effects/post-to-ledger.ts',
    search: 'REPEATABLE_CODES.includes(error.code)) return undefined',
    replace: 'REPEATABLE_CODES.length > 0) return undefined',
    has_full_balance: true,
  },
  {
    name: 'the operator does not learn that the ledger refuses an entry',
    file: 'services/payments/effects/post-to-ledger.ts',
    search:
      '  return (payment) => addAnomaly(payment, newLedgerRefusalAnomaly(payment, { entry, code, at }))',
    replace:
      '  return (payment) => (code === 0 ? addAnomaly(payment, newLedgerRefusalAnomaly(payment, { entry, code, at })) : payment)',
    has_full_balance: true,
  },
]
