import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { openStore } from '#lib/store/open.ts'
import { ledger_signer } from '../../services/balances/ledger.fixture.ts'
import { CHECKPOINT_INTERVAL_BATCHES } from '../../services/balances/limits.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import {
  finishedVerification,
  resultOf,
  withReads,
  writeJournal,
} from '../../services/balances/verification/verification.fixture.ts'
import { createVerifier } from '../../services/balances/verification/verifier.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { trustedClock } from '../support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

const CHILD = join(import.meta.dirname, 'verification-crash.child.ts')
const BATCHES = 20 * Number(CHECKPOINT_INTERVAL_BATCHES)
const LEASE_MS = 30_000

/** Starts a process that verifies the ledger, and kills it after two resume points. Returns the last one. */
async function verifyAndKill(directory: string): Promise<bigint> {
  const child = spawn(process.execPath, [CHILD, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
  const resume_points: bigint[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    resume_points.push(BigInt(line))
    if (resume_points.length === 2) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return resume_points.at(-1) ?? 0n
}

// B4
test('a verification survives kill -9: another process continues at the resume point', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-verification-crash-'))
  const open = () => openStore({ database: 'balances', directory, timeout_ms: HANG_LIMIT_MS })
  const first = await open()
  const [batch] = await writeJournal(await openLedgerStore(first, ledger_signer), BATCHES)
  await first.close()
  const marked_seq = await verifyAndKill(directory)
  expect(marked_seq).toBeLessThan(BATCHES)

  const opened = await open()
  const store = await openLedgerStore(opened, ledger_signer)
  const reads: bigint[] = []
  const recording = withReads(store, (shard, seq) => {
    if (shard === batch?.shard) reads.push(seq)
  })
  const clock = createAdjustableClock()
  clock.stepWall(LEASE_MS)
  const restoreClock = useClock(clock)
  const verifier = createVerifier(recording, trustedClock, 'parent', 0)
  verifier.wake()
  const result = resultOf(await finishedVerification(store))
  await verifier.stop()
  restoreClock()
  expect(result).toEqual({ entries: BigInt(BATCHES), problems: [] })
  // The child may have stored one more resume point between its last line and the kill.
  expect(reads[0]).toBeGreaterThan(marked_seq)
  await opened.close()
  await rm(directory, { recursive: true, force: true })
}, 600_000)
