import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from '@jest/globals'
import { openStore } from '#lib/platform/store/open.ts'
import { shardOf } from '../../services/balances/domain/shard.ts'
import { createLedger } from '../../services/balances/ledger.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'

const CHILD = join(import.meta.dirname, 'ledger-crash.child.ts')
const ROUNDS = 3
const PROMISES = 1_500

/** Lets a process storm the ledger, kills it in the middle, and answers what it had been promised. */
async function stormAndKill(directory: string, round: number): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, directory, `r${round}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const promised: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    promised.push(line)
    if (promised.length === PROMISES) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return promised
}

test('a process that is killed in a storm loses nothing that it promised, and the ledger stays consistent', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-ledger-crash-'))
  const promised: string[] = []
  for (let round = 0; round < ROUNDS; round += 1) promised.push(...(await stormAndKill(directory, round)))
  expect(promised.length).toBeGreaterThanOrEqual(ROUNDS * PROMISES)

  const opened = await openStore({ database: 'balances', directory })
  const store = await openLedgerStore(opened)
  const ledger = createLedger(store)
  const verification = await ledger.verify()
  expect(verification.differences).toEqual([])
  expect(verification.transfers).toBeGreaterThanOrEqual(BigInt(promised.length))
  for (const line of promised) {
    // A line may have been cut by the kill; what is not whole was not promised.
    const [id, code, merchant] = line.split(' ')
    if (id === undefined || code === undefined || merchant === undefined) continue
    const [batch] = await store.journal.findByEntryId(shardOf(merchant, 'test'), id, 1)
    const entry = batch?.entries.find((candidate) => candidate.id === id)
    expect(`${id} ${entry?.refused_code ?? 0}`).toBe(`${id} ${code}`)
  }
  // What the killed processes left to do is done by whoever uses the shard next.
  for (const merchant_id of ['1', '1000', '2000']) {
    await ledger.listEntries({ environment: 'test', merchant_id, limit: 1 })
    const shard = shardOf(merchant_id, 'test')
    expect(await store.entries.projectedSequence(shard)).toBe(await store.journal.lastSequence(shard))
  }
  await ledger.stop()
  expect(await ledger.verify()).toMatchObject({ consistent: true })
  expect(await ledger.rebuildProjections()).toBe(0)
  await opened.close()
  await rm(directory, { recursive: true, force: true })
}, 120_000)
