import { expect, test } from '@jest/globals'
import type { Entry } from './domain/entry.ts'
import { sealBatch } from './domain/hash-chain.ts'
import type { AccountName } from './domain/merchant-accounts.ts'
import { shardOf } from './domain/shard.ts'
import { ledger_signer } from './ledger.fixture.ts'
import { createDataCheck } from './operations.ts'
import type { LedgerStore } from './store/ledger-store.ts'

const AMOUNT = { amount: 400n, currency: 'INR' }

/** An entry of the payment p. */
function entry(
  id: string,
  kind: Entry['kind'],
  [debit, credit]: readonly [AccountName, AccountName],
  changes: Partial<Entry> = {},
): Entry {
  const balances = { available: 0n, held: 0n }
  return {
    id,
    kind,
    merchant_id: '7001',
    ...AMOUNT,
    debit,
    credit,
    payment_id: 'p',
    reason: '',
    ...balances,
    ...changes,
  }
}

const HOLD = ['available', 'held'] as const
const ENTRIES: readonly Entry[] = [
  entry('p:credit', 'transfer', ['clearing', 'available']),
  entry('p:hold', 'hold', HOLD),
  entry('p:hold:resolve', 'capture', ['held', 'clearing']),
  entry('r:hold:1', 'hold', HOLD, { refused_code: 6004 }),
  entry('r:hold:2:resolve', 'release', ['held', 'available']),
  entry('b:debit', 'transfer', ['available', 'chargebacks']),
  entry('b:return', 'transfer', ['chargebacks', 'available']),
]

// P18
test('the payment of each entry must know it, with its amount and whether it was accepted', async () => {
  const ignored = [
    // Its payment was deleted.
    entry('q:hold', 'hold', HOLD, { payment_id: 'q', refused_code: 6004 }),
    entry('q:hold:resolve', 'release', ['held', 'available'], { payment_id: 'q', refused_code: 6004 }),
    entry('act', 'adjustment', ['clearing', 'available'], { payment_id: undefined }),
  ]
  const position = { shard: shardOf('7001', 'production'), seq: 1n, time: new Date(0) }
  const batch = sealBatch(position, '', [...ENTRIES, ...ignored], 'token')
  const readDocuments = async function* () {
    yield { ...batch, ids: [], statements: [], signature: '' }
  }
  const check = createDataCheck({} as LedgerStore, readDocuments as never, ledger_signer)
  const required = []
  for await (const { role, id, environment, claim, is_reported } of check.listRequirements?.() ?? [])
    required.push({ role, id, environment, claim, is_reported })
  const claimed = (entry_id: string, posting: string, refused_code?: number) => ({
    role: 'payments',
    id: 'p',
    environment: 'production',
    claim: { kind: 'entry', entry_id, posting, ...AMOUNT, refused_code, reason: '' },
    is_reported: undefined,
  })
  expect(required).toEqual([
    claimed('p:credit', 'credit'),
    claimed('p:hold', 'hold'),
    claimed('p:hold:resolve', 'capture'),
    claimed('r:hold:1', 'hold', 6004),
    claimed('r:hold:2:resolve', 'release'),
    claimed('b:debit', 'debit'),
    claimed('b:return', 'return'),
    // A chargeback that was credited back is won in support, unless its payment reports it still.
    {
      role: 'support',
      id: 'b',
      environment: 'production',
      claim: { kind: 'chargeback', chargeback_id: 'b', ...AMOUNT, is_won: true },
      is_reported: true,
    },
  ])
})

test('a batch without its entries is unreadable, and hides nothing of the others', async () => {
  const position = { shard: shardOf('7001', 'production'), time: new Date(0) }
  const stored = { ids: [], statements: [], signature: '' }
  const readDocuments = async function* () {
    yield { ...position, ...stored, seq: 1n, format: 2, hash: '' }
    yield { ...sealBatch({ ...position, seq: 2n }, '', ENTRIES.slice(0, 1), 'token'), ...stored }
  }
  const check = createDataCheck({} as LedgerStore, readDocuments as never, ledger_signer)
  const unreadable: string[] = []
  const required = []
  for await (const { id } of check.listRequirements?.({ onUnreadable: (text) => unreadable.push(text) }) ??
    [])
    required.push(id)
  expect(required).toEqual(['p'])
  expect(unreadable).toEqual([expect.stringContaining('batch 1 does not have the form of a batch')])
})
