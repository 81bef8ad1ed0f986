import { Long, MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { openStore } from '#lib/store/open.ts'
import { ledger_signer } from '../../services/balances/ledger.fixture.ts'
import { createLedger } from '../../services/balances/ledger.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { createLedgerTransfer, merchantOf, type Transfer } from './transfers.ts'

/** The ledger on the MongoDB adapter, and the baseline on the same server. */
export interface MongodbTransfers {
  readonly ours: Transfer
  /** One guarded `$inc` of the balance, durable when it resolves. It records no entry and detects no repetition. */
  readonly baseline: Transfer
  stop(): Promise<void>
}

/** Opens both sides in a new database of the server at `uri`, with `accounts` accounts. */
export async function openMongodbTransfers(uri: string, accounts: number): Promise<MongodbTransfers> {
  const database = `bench-${randomHex(4)}`
  const store = await openStore({ database, mongodb_uri: new Secret(uri), timeout_ms: 60_000 })
  const ledger = createLedger(await openLedgerStore(store, ledger_signer), trustedClock)
  const client = new MongoClient(uri, { writeConcern: { w: 'majority', journal: true } })
  const balances = client
    .db(database)
    .collection<{ _id: string; available: Long; clearing: Long }>('balances')
  const zero = Long.fromNumber(0)
  const rows = Array.from({ length: accounts }, (_, account) => ({
    _id: merchantOf(account),
    available: zero,
    clearing: zero,
  }))
  await balances.insertMany(rows)
  return {
    ours: createLedgerTransfer(ledger),
    async baseline(_, account) {
      const change = { $inc: { available: Long.fromNumber(100), clearing: Long.fromNumber(-100) } }
      const { matchedCount } = await balances.updateOne(
        { _id: merchantOf(account), available: { $gte: zero } },
        change,
      )
      if (matchedCount !== 1) throw new Error('a balance was not changed')
    },
    async stop() {
      await ledger.stop()
      await client.db(database).dropDatabase()
      await client.close()
      await store.close()
    },
  }
}
