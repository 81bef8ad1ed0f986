import { expect, test } from '@jest/globals'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { SHARDS, shardOf } from '../domain/shard.ts'
import { credit, openFixture } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import type { LedgerStore } from '../store/ledger-store.ts'

/** One merchant for each shard of an environment, in the order of the shards. */
function merchantOfEachShard(): string[] {
  const merchants = new Map<number, string>()
  for (let number = 0; merchants.size < SHARDS / 2; number += 1)
    merchants.set(shardOf(`m${number}`, 'test'), `m${number}`)
  return [...merchants.values()]
}

/** Counts how often a shard is loaded: each load looks for the checkpoint of the shard. */
function countingLoads(store: LedgerStore): { store: LedgerStore; loads: () => number } {
  let loads = 0
  const getHead: LedgerStore['checkpoints']['getHead'] = async (shard) => {
    loads += 1
    return await store.checkpoints.getHead(shard)
  }
  return { store: { ...store, checkpoints: { ...store.checkpoints, getHead } }, loads: () => loads }
}

/** The levels of the ledger, of all ledgers in this process. */
async function levels() {
  const text = await metricsText()
  const readMetric = (name: string): number =>
    Number(new RegExp(`^multihub_ledger_${name} (.+)$`, 'm').exec(text)?.[1])
  return {
    loaded_shards: readMetric('loaded_shards'),
    memory_bytes: readMetric('memory_bytes'),
    commands_waiting: readMetric('commands_waiting'),
    batches_to_replay: readMetric('batches_to_replay'),
  }
}

test('all shards stay loaded while their states fit into the memory limit', async () => {
  await using fixture = await openFixture()
  const { store, loads } = countingLoads(fixture.store)
  const ledger = createLedger(store, trustedClock)
  const merchants = merchantOfEachShard()
  for (const environment of ['test', 'production'] as const) {
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(
        merchants.map((merchant) => ledger.submit(environment, credit(`${round}`, 1n, merchant))),
      )
    }
  }
  expect(loads()).toBe(SHARDS)
  const seen = await levels()
  expect(seen).toMatchObject({ loaded_shards: SHARDS, commands_waiting: 0, batches_to_replay: 3 * SHARDS })
  expect(seen.memory_bytes).toBeGreaterThan(SHARDS)
  await ledger.stop()
  expect(await levels()).toEqual({
    loaded_shards: 0,
    memory_bytes: 0,
    commands_waiting: 0,
    batches_to_replay: 0,
  })
})

test('beyond the memory limit, recent entries go first, then the least recently used shards', async () => {
  await using fixture = await openFixture()
  const { store, loads } = countingLoads(fixture.store)
  const merchants = merchantOfEachShard()
  const [busy = '', ...others] = merchants
  // The accounts of all shards fit, but not 100 recent entries of each.
  const ledger = createLedger(store, trustedClock, undefined, merchants.length * 1_500)
  for (let round = 0; round < 3; round += 1) {
    for (const merchant of merchants) {
      const commands = Array.from({ length: 100 }, (_, number) => credit(`${round} ${number}`, 1n, merchant))
      await Promise.all(commands.map((command) => ledger.submit('test', command)))
    }
  }
  expect(loads()).toBe(merchants.length)
  // A repetition that is not in memory any more still gets its entry.
  expect(await ledger.submit('test', credit('0 0', 1n, busy))).toMatchObject({ recorded: { seq: 1n } })
  await ledger.stop()

  const small = createLedger(store, trustedClock, undefined, 20 * 2_000)
  for (const merchant of others) await small.accounts('test', merchant)
  const before = loads()
  for (const merchant of others.slice(-10)) await small.accounts('test', merchant)
  expect(loads()).toBe(before)
  for (const merchant of others.slice(0, 50)) await small.accounts('test', merchant)
  expect(loads()).toBe(before + 50)
  await small.stop()
}, 60_000)

test('a shard that is in use stays loaded, however little memory there is', async () => {
  await using fixture = await openFixture()
  const [busy = '', ...others] = merchantOfEachShard()
  const { store, loads } = countingLoads(fixture.store)
  const gate = Promise.withResolvers<void>()
  const busy_shard = shardOf(busy, 'test')
  const journal: LedgerStore['journal'] = {
    ...store.journal,
    async append(batch) {
      if (batch.shard === busy_shard) await gate.promise
      return await store.journal.append(batch)
    },
  }
  const ledger = createLedger({ ...store, journal }, trustedClock, undefined, 0)
  const submitted = ledger.submit('test', credit('one', 1n, busy))
  for (const merchant of others.slice(0, 5)) await ledger.submit('test', credit('one', 1n, merchant))
  const read = ledger.accounts('test', busy)
  gate.resolve()
  expect(await submitted).toMatchObject({ recorded: { seq: 1n } })
  expect(await read).toMatchObject([{ available: 1n }])
  expect(loads()).toBe(6)
  await ledger.stop()
})
