import { now } from '#lib/base/time.ts'
import { storeSuite } from '../../../../test/suites/store.suite.ts'
import { createDatabase } from './database.ts'
import { openSimulatedStore } from './store.ts'

/** The simulated store passes the suite of the real ones, so that simulation finds only what they would do too. */
storeSuite('simulated', async () => {
  const database = createDatabase('orders')
  return {
    open: async () => openSimulatedStore(database, async (_command, apply) => apply(undefined), now),
    remove: async () => {},
  }
})
