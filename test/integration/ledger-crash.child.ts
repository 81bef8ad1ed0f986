import { writeSync } from 'node:fs'
import { openStore } from '#lib/platform/store/open.ts'
import { credit, hold, resolve } from '../../services/balances/ledger.fixture.ts'
import { createLedger } from '../../services/balances/ledger.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'

const [directory = '', round = ''] = process.argv.slice(2)
const WORKERS = 64
const MERCHANTS = ['1', '12', '31', '1000', '2000']

/** Storms the ledger and says, line by line, what it was promised, until somebody kills it. */
const store = await openStore({ database: 'balances', directory })
const ledger = createLedger(await openLedgerStore(store))

await Promise.all(
  Array.from({ length: WORKERS }, async (_, worker) => {
    const merchant = MERCHANTS[worker % MERCHANTS.length] ?? ''
    for (let number = 0; ; number += 1) {
      const id = `${round}-${worker}-${number}`
      for (const command of [
        credit(`${id}:credit`, 100n, merchant),
        hold(`${id}:hold`, 130n, merchant),
        resolve(number % 2 ? 'capture' : 'release', `${id}:hold`, merchant),
      ]) {
        const outcome = await ledger.submit('test', command)
        if ('recorded' in outcome)
          writeSync(1, `${command.id} ${outcome.recorded.entry.refused_code ?? 0} ${merchant}\n`)
      }
    }
  }),
)
