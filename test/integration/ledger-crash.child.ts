import { writeSync } from 'node:fs'
import { openStore } from '#lib/store/open.ts'
import { credit, hold, ledger_signer, resolve } from '../../services/balances/ledger.fixture.ts'
import { createLedger } from '../../services/balances/ledger.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { trustedClock } from '../support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

const [directory = '', round = ''] = process.argv.slice(2)
const WORKERS = 64
const MERCHANTS = ['1', '12', '31', '1000', '2000']

/** Submits commands without end and prints one line per acknowledged command, until the parent kills the process. */
const store = await openStore({ database: 'balances', directory, timeout_ms: HANG_LIMIT_MS })
const ledger = createLedger(await openLedgerStore(store, ledger_signer), trustedClock)

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
        const result = await ledger.submit('test', command)
        if ('recorded' in result)
          writeSync(1, `${command.id} ${result.recorded.entry.refused_code ?? 0} ${merchant}\n`)
      }
    }
  }),
)
