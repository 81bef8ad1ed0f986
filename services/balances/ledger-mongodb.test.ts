import { expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import { openStore } from '#lib/platform/store/open.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { mongodbForTests } from '../../test/support/servers.ts'
import { credit, hold } from './ledger.fixture.ts'
import { createLedger } from './ledger.ts'
import { openLedgerStore } from './store/ledger-store.ts'
import { verifyLedger } from './verification/verification.fixture.ts'

const server = await mongodbForTests()

if ('skip' in server) {
  test.skip(`ledger on MongoDB: ${server.skip}`, () => {})
} else {
  test('two processes that contend for a shard on MongoDB lose no command and decide none twice', async () => {
    const database = `ledger-${randomHex(6)}`
    const open = () => openStore({ database, mongodb_uri: new Secret(server.uri), timeout_ms: HANG_LIMIT_MS })
    const stores = [await open(), await open()] as const
    const ledgers = []
    for (const store of stores) ledgers.push(createLedger(await openLedgerStore(store), trustedClock))
    try {
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
      const later = createLedger(await openLedgerStore(stores[0]), trustedClock)
      const repeated = [...credits.slice(0, 20), ...holds.slice(0, 20), credit('new', 1n)]
      const results = await Promise.all(repeated.map((command) => later.submit('test', command)))
      const recorded_seqs = results.map((result) => 'recorded' in result && result.recorded.seq)
      const last_seq = recorded_seqs.pop()
      expect(recorded_seqs.every((seq) => seq && last_seq && seq < last_seq)).toBe(true)
      await later.stop()
      expect(await verifyLedger(await openLedgerStore(stores[0]))).toEqual({ entries: 401n, problems: [] })
    } finally {
      const client = new MongoClient(server.uri)
      await client.db(database).dropDatabase()
      await client.close()
      await Promise.all(stores.map((store) => store.close()))
      await server.stop()
    }
  }, 600_000)
}
