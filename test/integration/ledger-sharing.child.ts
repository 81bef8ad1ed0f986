import { writeSync } from 'node:fs'
import { openStore } from '#lib/store/open.ts'
import { startProcess } from '../../services/balances/balances-process.fixture.ts'
import { ledger_signer } from '../../services/balances/ledger.fixture.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

const [directory = ''] = process.argv.slice(2)

/** Takes its share of the shards, prints its address, and decides commands until the parent kills the process. */
const store = await openStore({ database: 'balances', directory, timeout_ms: HANG_LIMIT_MS })
const { address } = await startProcess(await openLedgerStore(store, ledger_signer))
writeSync(1, `${address}\n`)
setInterval(() => {}, 60_000)
