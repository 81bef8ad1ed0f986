import { writeSync } from 'node:fs'
import { openStore } from '#lib/store/open.ts'
import { ledger_signer } from '../../services/balances/ledger.fixture.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { startVerification } from '../../services/balances/use-cases/verification.ts'
import { createVerifier } from '../../services/balances/verification/verifier.ts'
import { trustedClock } from '../support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

const [directory = ''] = process.argv.slice(2)

/** Verifies a ledger from its first batch, and prints each stored resume point, until the parent kills the process. */
const opened = await openLedgerStore(
  await openStore({ database: 'balances', directory, timeout_ms: HANG_LIMIT_MS }),
  ledger_signer,
)
const verifications: typeof opened.verifications = {
  ...opened.verifications,
  async putShard(document, version) {
    const stored = await opened.verifications.putShard(document, version)
    if (stored?.resume_point) writeSync(1, `${stored.resume_point.snapshot.seq}\n`)
    return stored
  },
}
await startVerification(verifications, true)
createVerifier({ ...opened, verifications }, trustedClock, 'child').wake()
setInterval(() => {}, 1_000)
