import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { Conflict } from '#lib/platform/store/errors.ts'
import { openStore } from '#lib/platform/store/open.ts'
import type { Store } from '#lib/platform/store/port.ts'
import { clock } from '#lib/platform/time.ts'
import { createLedger } from '../services/balances/ledger.ts'
import { openLedgerStore } from '../services/balances/store/ledger-store.ts'
import type { BenchResult } from './result.ts'
import { compared, inTurns } from './rounds.ts'

const IN_FLIGHT = 512
const ROUND_MS = 2_000
const ROUNDS = 5
const GOAL = { ratio: 10 }

/** Makes one durable transfer on the one account of the bench. */
type Transfer = (id: string) => Promise<void>

/**
 * `ledger.hot`: durable transfers on ONE account through the ledger's own interface, beside the least program that
 * keeps the same promise without a log: one guarded write of the balance and the id of its entry, a transfer.
 */
export async function run(): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const stores = [
    await openStore({ database: 'ours', directory }),
    await openStore({ database: 'floor', directory }),
  ]
  const [ours_store, floor_store] = stores
  if (ours_store === undefined || floor_store === undefined) throw new Error('no stores')
  const ledger = createLedger(await openLedgerStore(ours_store))
  const content = {
    kind: 'transfer',
    currency: 'INR',
    debit: 'clearing',
    credit: 'available',
    reason: 'deposit',
  } as const
  const ours: Transfer = async (id) => {
    const outcome = await ledger.submit('test', {
      ...content,
      id,
      merchant_id: '1000000000000042',
      amount: 100n,
      payment_id: id,
    })
    if (!('recorded' in outcome)) throw new Error('a transfer was not recorded')
  }
  try {
    const floor = await guardedTransfer(floor_store)
    const rounds = await inTurns(ROUNDS, { ours: () => rateOf(ours), floor: () => rateOf(floor) })
    return [{ name: 'ledger.hot', unit: 'transfers/s', goal: GOAL, ...compared(rounds, (rate) => rate) }]
  } finally {
    await ledger.stop()
    await Promise.all(stores.map((store) => store.close()))
    await rm(directory, { recursive: true, force: true })
  }
}

async function rateOf(transfer: Transfer): Promise<number> {
  const round = randomHex(4)
  const began_ms = clock.monotonic_ms()
  let count = 0
  const work = async (): Promise<void> => {
    while (clock.monotonic_ms() - began_ms < ROUND_MS) {
      count += 1
      await transfer(`019aa3c0-0000-7000-8000-${round}:${count}`)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, work))
  return (count / (clock.monotonic_ms() - began_ms)) * 1000
}

interface Balance {
  readonly merchant_id: string
  readonly available: bigint
}

/**
 * The id is written first, so that a repeat is known; then the balance is replaced under its version. The transfers of
 * this one process take turns at the balance: racing for it, 512 of them would mostly make each other repeat.
 */
async function guardedTransfer(store: Store): Promise<Transfer> {
  const spec = { partition: ['merchant_id'] }
  const balances = await store.collection<Balance>({ ...spec, name: 'balances', key: ['merchant_id'] })
  const entries = await store.collection({ ...spec, name: 'entries', key: ['merchant_id', 'id'] })
  const merchant_id = '1000000000000042'
  await balances.insert({ merchant_id, available: 0n })
  const add = async (): Promise<void> => {
    for (;;) {
      const balance = await balances.get({ merchant_id })
      if (balance === undefined) throw new Error('the balance is gone')
      try {
        await balances.replace({ ...balance, available: balance.available + 100n }, balance.version)
        return
      } catch (error) {
        if (!(error instanceof Conflict)) throw error
      }
    }
  }
  let turn = Promise.resolve()
  return async (id) => {
    await entries.insert({ merchant_id, id, amount: 100n, reason: 'deposit' })
    turn = turn.then(add)
    await turn
  }
}
