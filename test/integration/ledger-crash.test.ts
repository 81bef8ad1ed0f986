import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from '@jest/globals'
import { openStore } from '#lib/store/open.ts'
import { shardOf } from '../../services/balances/domain/shard.ts'
import { ledger_signer } from '../../services/balances/ledger.fixture.ts'
import { createLedger } from '../../services/balances/ledger.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { verifyLedger } from '../../services/balances/verification/verification.fixture.ts'
import { trustedClock } from '../support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

const CHILD = join(import.meta.dirname, 'ledger-crash.child.ts')
const ROUNDS = 3
const ACKNOWLEDGEMENTS = 1_500

/** Starts a process that loads the ledger, kills it under load, and returns the commands that were acknowledged. */
async function loadAndKill(directory: string, round: number): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, directory, `r${round}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const acknowledged: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(line)
    if (acknowledged.length === ACKNOWLEDGEMENTS) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return acknowledged
}

test('a process that is killed under load loses nothing that it acknowledged, and the ledger stays consistent', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-ledger-crash-'))
  const acknowledged: string[] = []
  for (let round = 0; round < ROUNDS; round += 1) acknowledged.push(...(await loadAndKill(directory, round)))
  expect(acknowledged.length).toBeGreaterThanOrEqual(ROUNDS * ACKNOWLEDGEMENTS)

  const opened = await openStore({ database: 'balances', directory, timeout_ms: HANG_LIMIT_MS })
  const store = await openLedgerStore(opened, ledger_signer)
  const ledger = createLedger(store, trustedClock)
  const verification = await verifyLedger(store)
  expect(verification.problems).toEqual([])
  expect(verification.entries).toBeGreaterThanOrEqual(BigInt(acknowledged.length))
  for (const line of acknowledged) {
    // The kill may cut the last line. A command with an incomplete line was not acknowledged.
    const [id, code, merchant] = line.split(' ')
    if (id === undefined || code === undefined || merchant === undefined) continue
    const [batch] = await store.journal.findByEntryId(shardOf(merchant, 'test'), id, 1)
    const entry = batch?.entries.find((candidate) => candidate.id === id)
    expect(`${id} ${entry?.refused_code ?? 0}`).toBe(`${id} ${code}`)
  }
  await ledger.stop()
  expect(await verifyLedger(store)).toMatchObject({ problems: [] })
  await opened.close()
  await rm(directory, { recursive: true, force: true })
}, 600_000)
