import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { ledger_signer } from '../services/balances/ledger.fixture.ts'
import { createLedger } from '../services/balances/ledger.ts'
import { openLedgerStore } from '../services/balances/store/ledger-store.ts'
import { trustedClock } from '../test/support/clock-guard.ts'
import { createGuardedTransfer } from './ledger/guarded-writes.ts'
import { openMongodbTransfers } from './ledger/mongodb.ts'
import { startPostgres } from './ledger/postgres.ts'
import { measureActiveShards, measureLoad } from './ledger/shards.ts'
import { createLedgerTransfer, measureTransfers, type TransferRate } from './ledger/transfers.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf, printProgress } from './rounds.ts'

const CONCURRENCY = 512
const ROUNDS = 5
const MANY_ACCOUNTS = 10_000

/** The number of clients with which PostgreSQL makes most transfers, on one account and on many. */
const CLIENTS = { hot: 4, spread: 16 } as const

/**
 * Durable transfers through the interface of the ledger, 512 at a time: `hot` on one account, `spread` over 10,000. The
 * baselines make a durable write per transfer: two guarded writes of our store, one function call of PostgreSQL, and
 * one `$inc` of MongoDB. Baselines without their server are left out.
 */
export async function run(): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  try {
    return [
      ...(await measureEmbedded(directory)),
      ...(await measureMongodb()),
      ...(await measureActiveShards(directory)),
      await measureLoad(directory),
    ]
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function measureEmbedded(directory: string): Promise<BenchResult[]> {
  const results: BenchResult[] = []
  await withLedger(directory, 'guarded', async (ours, store) => {
    const baseline = await createGuardedTransfer(store)
    const sides = {
      ours: () => ours(1),
      baseline: () => measureTransfers(baseline, 1, CONCURRENCY),
    }
    results.push(...(await compare('ledger.hot', sides, { ratio: 10 })))
  })
  const postgres = await startPostgres(directory)
  if ('skip' in postgres) {
    printProgress(`the comparison with PostgreSQL is left out: ${postgres.skip}`)
    return results
  }
  try {
    await withLedger(directory, 'hot', async (ours) => {
      const sides = { ours: () => ours(1), baseline: () => postgres.measure(CLIENTS.hot, 1) }
      results.push(...(await compare('ledger.hot, PostgreSQL', sides, { ratio: 5 })))
    })
    await withLedger(directory, 'spread', async (ours) => {
      const baseline = () => postgres.measure(CLIENTS.spread, MANY_ACCOUNTS)
      const sides = { ours: () => ours(MANY_ACCOUNTS), baseline }
      results.push(...(await compare('ledger.spread, PostgreSQL', sides, { ratio: 2 })))
    })
  } finally {
    await postgres.stop()
  }
  return results
}

async function measureMongodb(): Promise<BenchResult[]> {
  const uri = process.env['MONGODB_URI']
  if (uri === undefined) {
    printProgress('the comparison with MongoDB is left out: MONGODB_URI is not set')
    return []
  }
  const results: BenchResult[] = []
  for (const [name, accounts, clients] of [
    ['hot', 1, CLIENTS.hot],
    ['spread', MANY_ACCOUNTS, CLIENTS.spread],
  ] as const) {
    const { ours, baseline, stop } = await openMongodbTransfers(uri, accounts)
    const sides = {
      ours: () => measureTransfers(ours, accounts, CONCURRENCY),
      baseline: () => measureTransfers(baseline, accounts, clients),
    }
    results.push(...(await compare(`ledger.${name}, MongoDB`, sides, { ratio: 10 })))
    await stop()
  }
  return results
}

/** Runs `work` with a new ledger on an embedded store, and a function that measures its transfers. */
async function withLedger(
  directory: string,
  database: string,
  work: (ours: (accounts: number) => Promise<TransferRate>, store: Store) => Promise<void>,
): Promise<void> {
  const store = await openStore({ database, directory })
  const ledger = createLedger(await openLedgerStore(store, ledger_signer), trustedClock)
  const transfer = createLedgerTransfer(ledger)
  try {
    await work((accounts) => measureTransfers(transfer, accounts, CONCURRENCY), store)
  } finally {
    await ledger.stop()
    await store.close()
  }
}

/** Measures both sides and returns the row of the rate and the row of the processor time. */
async function compare(
  name: string,
  sides: { readonly ours: () => Promise<TransferRate>; readonly baseline: () => Promise<TransferRate> },
  goal: { readonly ratio: number },
): Promise<BenchResult[]> {
  const rounds = await measureAlternately(name, ROUNDS, sides)
  return [
    { name, unit: 'transfers/s', goal, ...medianOf(rounds, (one) => one.transfers_per_second) },
    { name: `${name}, processor`, unit: 'us/transfer', ...medianOf(rounds, ({ cpu_us }) => cpu_us, 'lower') },
  ]
}
