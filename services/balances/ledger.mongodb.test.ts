import { afterAll, expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { mongodbForTests } from '../../test/support/servers.ts'
import { credit, hold, ledger_signer } from './ledger.fixture.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { type LedgerStore, openLedgerStore } from './store/ledger-store.ts'
import { verifyLedger } from './verification/verification.fixture.ts'

const server = await mongodbForTests()

/** The ledgers of two processes on a new database of their own. Disposing of them deletes the database. */
interface TwoProcesses extends AsyncDisposable {
  readonly ledgers: readonly Ledger[]
  readonly store: LedgerStore
}

async function openTwoProcesses(uri: string): Promise<TwoProcesses> {
  const database = `ledger-${randomHex(6)}`
  const open = (): Promise<Store> =>
    openStore({ database, mongodb_uri: new Secret(uri), timeout_ms: HANG_LIMIT_MS })
  const opened = [await open(), await open()] as const
  const stores = [
    await openLedgerStore(opened[0], ledger_signer),
    await openLedgerStore(opened[1], ledger_signer),
  ] as const
  return {
    ledgers: stores.map((store) => createLedger(store, trustedClock)),
    store: stores[0],
    async [Symbol.asyncDispose]() {
      const client = new MongoClient(uri)
      await client.db(database).dropDatabase()
      await client.close()
      for (const store of opened) await store.close()
    },
  }
}

if ('skip' in server) {
  test.skip(`ledger on MongoDB: ${server.skip}`, () => {})
} else {
  afterAll(() => server.stop())

  test('two processes that contend for a shard on MongoDB lose no command and decide none twice', async () => {
    await using processes = await openTwoProcesses(server.uri)
    const { ledgers, store } = processes
    const credits = Array.from({ length: 300 }, (_, index) => credit(`c${index}`, 10n))
    const holds = Array.from({ length: 100 }, (_, index) => hold(`h${index}`, 70n))
    for (const commands of [credits, holds]) {
      const [one, other] = await Promise.all(
        ledgers.map((ledger) => Promise.all(commands.map((command) => ledger.submit('test', command)))),
      )
      expect(one).toEqual(other)
    }
    for (const ledger of ledgers) {
      expect(await ledger.accounts('test', '1000')).toMatchObject([
        { available: 60n, held: 2_940n, clearing: -3_000n },
      ])
      const statement = await ledger.listEntries({ environment: 'test', merchant_id: '1000', limit: 500 })
      expect(statement).toHaveLength(400)
      await ledger.stop()
    }
    // A new process remembers no id. The unique index of the journal finds the repetitions.
    const later = createLedger(store, trustedClock)
    const repeated = [...credits.slice(0, 20), ...holds.slice(0, 20), credit('new', 1n)]
    const results = await Promise.all(repeated.map((command) => later.submit('test', command)))
    const recorded_seqs = results.map((result) => 'recorded' in result && result.recorded.seq)
    const last_seq = recorded_seqs.pop()
    expect(recorded_seqs.every((seq) => seq && last_seq && seq < last_seq)).toBe(true)
    await later.stop()
    expect(await verifyLedger(store)).toEqual({ entries: 401n, problems: [] })
  }, 600_000)

  test('two processes that contend for many shards, whose inserts share commands, do not either', async () => {
    await using processes = await openTwoProcesses(server.uri)
    const { ledgers, store } = processes
    const commands = Array.from({ length: 160 }, (_, index) => credit(`c${index}`, 1n, `m${index % 40}`))
    const [one, other] = await Promise.all(
      ledgers.map((ledger) => Promise.all(commands.map((command) => ledger.submit('test', command)))),
    )
    expect(one).toEqual(other)
    for (const ledger of ledgers) await ledger.stop()
    expect(await verifyLedger(store)).toEqual({ entries: 160n, problems: [] })
  }, 600_000)
}
