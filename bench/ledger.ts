import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { Conflict } from '#lib/platform/store/errors.ts'
import { openStore } from '#lib/platform/store/open.ts'
import type { Store } from '#lib/platform/store/store.ts'
import { clock } from '#lib/platform/time.ts'
import { createLedger } from '../services/balances/ledger.ts'
import { openLedgerStore } from '../services/balances/store/ledger-store.ts'
import { trustedClock } from '../test/support/clock-guard.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf } from './rounds.ts'

const CONCURRENCY = 512
const ROUND_MS = 2_000
const ROUNDS = 5
const GOAL = { ratio: 10 }

/** Makes one durable transfer. All transfers of the benchmark are on the same account. */
type Transfer = (id: string) => Promise<void>

/**
 * `ledger.hot` measures durable transfers on ONE account through the interface of the ledger. The baseline makes the same
 * promise without a log: per transfer, one insert of the entry and one guarded write of the balance.
 */
export async function run(): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const stores = [
    await openStore({ database: 'ours', directory }),
    await openStore({ database: 'baseline', directory }),
  ]
  const [our_store, baseline_store] = stores
  if (our_store === undefined || baseline_store === undefined) throw new Error('the stores are missing')
  const ledger = createLedger(await openLedgerStore(our_store), trustedClock)
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
    const baseline = await createGuardedTransfer(baseline_store)
    const rounds = await measureAlternately('ledger.hot', ROUNDS, {
      ours: () => rateOf(ours),
      baseline: () => rateOf(baseline),
    })
    return [{ name: 'ledger.hot', unit: 'transfers/s', goal: GOAL, ...medianOf(rounds, (rate) => rate) }]
  } finally {
    await ledger.stop()
    await Promise.all(stores.map((store) => store.close()))
    await rm(directory, { recursive: true, force: true })
  }
}

async function rateOf(transfer: Transfer): Promise<number> {
  const round = randomHex(4)
  const start_ms = clock.monotonic_ms()
  let count = 0
  const worker = async (): Promise<void> => {
    while (clock.monotonic_ms() - start_ms < ROUND_MS) {
      count += 1
      await transfer(`019aa3c0-0000-7000-8000-${round}:${count}`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return (count / (clock.monotonic_ms() - start_ms)) * 1000
}

interface Balance {
  readonly merchant_id: string
  readonly available: bigint
}

/**
 * Inserts the entry first, which detects a repeated id, and then replaces the balance under its version. The balance
 * writes of this process run one after the other: in parallel, 512 of them would mostly conflict and repeat.
 */
async function createGuardedTransfer(store: Store): Promise<Transfer> {
  const spec = { partition: ['merchant_id'] }
  const balances = await store.collection<Balance>({ ...spec, name: 'balances', key: ['merchant_id'] })
  const entries = await store.collection({ ...spec, name: 'entries', key: ['merchant_id', 'id'] })
  const merchant_id = '1000000000000042'
  await balances.insert({ merchant_id, available: 0n })
  const addToBalance = async (): Promise<void> => {
    for (;;) {
      const balance = await balances.get({ merchant_id })
      if (balance === undefined) throw new Error('the balance is missing')
      try {
        await balances.replace({ ...balance, available: balance.available + 100n }, balance.version)
        return
      } catch (error) {
        if (!(error instanceof Conflict)) throw error
      }
    }
  }
  let last_write = Promise.resolve()
  return async (id) => {
    await entries.insert({ merchant_id, id, amount: 100n, reason: 'deposit' })
    last_write = last_write.then(addToBalance)
    await last_write
  }
}
