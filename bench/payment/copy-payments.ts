import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { uuidv7 } from '#lib/base/ids.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection } from '#lib/store/store.ts'
import { databaseOf } from '../../app/roles.ts'
import { referencesOf } from '../../services/payments/domain/payment-references.ts'
import { openSealedStore } from '../../services/payments/store/payments-store.ts'
import { type SealedPayment, withoutPerson } from '../../services/payments/store/sealed-payments.ts'
import { type Demo, merchantClient } from '../../test/support/merchant.ts'

/** How the `c_id` of a copy begins; its number follows, from 0. */
export const STORED_C_ID = 'stored-'

const INSERTS_AT_ONCE = 2_000
const STORE_TIMEOUT_MS = 60_000

/**
 * Stores copies of a payment whose effects have all run, one of the first merchant of the demonstration, in the data of a
 * system that is stopped. Throws when there is none.
 */
export async function copyPayments(home: string, count: number): Promise<void> {
  const database = databaseOf('multihub', 'payments')
  const directory = join(home, 'data')
  const store = await openStore({ database, directory, timeout_ms: STORE_TIMEOUT_MS })
  try {
    const { payments } = await openSealedStore(store)
    const original = await findSettled(payments, home)
    for (let first = 0; first < count; first += INSERTS_AT_ONCE) {
      const length = Math.min(INSERTS_AT_ONCE, count - first)
      const copies = Array.from({ length }, (_, place) => copyOf(original, first + place))
      await Promise.all(copies.map((copy) => payments.insert(copy)))
    }
  } finally {
    await store.close()
  }
}

async function findSettled(payments: Collection<SealedPayment>, home: string): Promise<SealedPayment> {
  const demo: Demo = JSON.parse(await readFile(join(home, 'demo.json'), 'utf8'))
  const { merchant_id } = merchantClient(() => demo).merchant
  const created = await payments.find('by_merchant_status', { equals: [merchant_id] }, { limit: 100 })
  const settled = created.find(({ status, effects }) => status === 'success' && effects.length === 0)
  if (settled === undefined) throw new Error('no payment has succeeded')
  const { version: _, ...payment } = settled
  return payment
}

/** Without what identifies a person, which is sealed for the original. */
function copyOf(original: SealedPayment, number: number): SealedPayment {
  const id = uuidv7()
  const copy = { ...withoutPerson(original), c_id: `${STORED_C_ID}${number}`, payment_id: id, h_id: id }
  return { ...copy, ids: referencesOf(copy, []) }
}
