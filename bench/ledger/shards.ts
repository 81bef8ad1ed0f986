import { clock } from '#lib/base/time.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { environmentOfShard, SHARDS, shardOf } from '../../services/balances/domain/shard.ts'
import { ledger_signer } from '../../services/balances/ledger.fixture.ts'
import { createLedger } from '../../services/balances/ledger.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import type { BenchResult } from '../result.ts'
import { measureAlternately, medianOf, printProgress, type Round } from '../rounds.ts'
import { createLedgerTransfer, measureTransfers, merchantOf, type TransferRate } from './transfers.ts'

const CONCURRENCY = 512
const PER_SHARD = 8
const ROUNDS = 5
const FEW_SHARDS = 60
const LOADS = 5
const HISTORY_ENTRIES = 300_000

/** A ledger in which each account is in a shard of its own. */
interface ShardedLedger {
  /** Makes transfers for one round, `concurrency` at a time in all shards together. */
  measure(concurrency: number): Promise<TransferRate>
  stop(): Promise<void>
}

/**
 * `ledger.shards`: the processor time of a transfer with all 256 shards active, the baseline with 60. Each side has its
 * own ledger with all of its shards in memory. It is measured with the same number of transfers at a time per shard, and
 * with the same number in total, which makes the batches of 256 shards smaller.
 */
export async function measureActiveShards(directory: string): Promise<BenchResult[]> {
  const many = await openShardedLedger(directory, SHARDS)
  const few = await openShardedLedger(directory, FEW_SHARDS)
  const name = `ledger.shards, ${SHARDS} active or ${FEW_SHARDS}`
  const per_shard = await measureAlternately(name, ROUNDS, {
    ours: () => many.measure(SHARDS * PER_SHARD),
    baseline: () => few.measure(FEW_SHARDS * PER_SHARD),
  })
  const in_total = await measureAlternately(`${name}, ${CONCURRENCY} at a time`, ROUNDS, {
    ours: () => many.measure(CONCURRENCY),
    baseline: () => few.measure(CONCURRENCY),
  })
  await many.stop()
  await few.stop()
  const unit = 'us/transfer'
  const goal = { ratio: 1 / 1.2 }
  return [
    { name: `${name}, ${PER_SHARD} at a time each, processor`, unit, goal, ...costOf(per_shard) },
    { name: `${name}, ${CONCURRENCY} at a time, processor`, unit, goal, ...costOf(in_total) },
  ]
}

function costOf(rounds: readonly Round<TransferRate>[]): Pick<BenchResult, 'ours' | 'baseline' | 'ratio'> {
  return medianOf(rounds, ({ cpu_us }) => cpu_us, 'lower')
}

async function openShardedLedger(directory: string, shards: number): Promise<ShardedLedger> {
  const store = await openStore({ database: `shards-${shards}`, directory })
  const ledger = createLedger(await openLedgerStore(store, ledger_signer), trustedClock)
  const merchants = merchantOfEachShard()
  const transfer = createLedgerTransfer(ledger, (shard) => ({
    environment: environmentOfShard(shard),
    merchant_id: merchants[shard % merchants.length] ?? '',
  }))
  return {
    measure: (concurrency) => measureTransfers(transfer, shards, concurrency),
    async stop() {
      await ledger.stop()
      await store.close()
    },
  }
}

/** One merchant for each shard of an environment, in the order of the shards. */
function merchantOfEachShard(): string[] {
  const merchants = new Map<number, string>()
  for (let account = 0; merchants.size < SHARDS / 2; account += 1)
    merchants.set(shardOf(merchantOf(account), 'test'), merchantOf(account))
  return [...merchants].sort(([one], [other]) => one - other).map(([, merchant]) => merchant)
}

/**
 * `ledger.load`: the time until a new process has a balance of a shard with a long journal, the baseline with a short one. The
 * process before it was killed, so the journal after its last checkpoint is replayed.
 */
export async function measureLoad(directory: string): Promise<BenchResult> {
  printProgress('ledger.load')
  const long = await openStore({ database: 'load-long', directory })
  const short = await openStore({ database: 'load-short', directory })
  try {
    const rounds = []
    const load_long = await createHistory(long, HISTORY_ENTRIES)
    const load_short = await createHistory(short, 1)
    for (let load = 0; load < LOADS; load += 1)
      rounds.push({ ours: await load_long(), baseline: await load_short() })
    const name = `ledger.load, ${HISTORY_ENTRIES} entries or 1`
    return { name, unit: 'ms', goal: { at_most: 1_000 }, ...medianOf(rounds, (time_ms) => time_ms, 'lower') }
  } finally {
    await long.close()
    await short.close()
  }
}

/** Writes a journal and returns a function that measures one load of its shard. */
async function createHistory(store: Store, entries: number): Promise<() => Promise<number>> {
  const opened = await openLedgerStore(store, ledger_signer)
  const transfer = createLedgerTransfer(createLedger(opened, trustedClock))
  let count = 0
  const worker = async (): Promise<void> => {
    while (count < entries) {
      count += 1
      await transfer(`history ${count}`, 0)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return async () => {
    const ledger = createLedger(opened, trustedClock)
    const start_ms = clock.monotonic_ms()
    await ledger.accounts('test', merchantOf(0))
    return clock.monotonic_ms() - start_ms
  }
}
