import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from '@jest/globals'
import { openStore } from '#lib/store/open.ts'
import { startProcess } from '../../services/balances/balances-process.fixture.ts'
import { shardOf } from '../../services/balances/domain/shard.ts'
import { rankShardOwners } from '../../services/balances/forwarding/shard-placement.ts'
import { credit, ledger_signer } from '../../services/balances/ledger.fixture.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { verifyLedger } from '../../services/balances/verification/verification.fixture.ts'
import { eventually } from '../support/eventually.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

const CHILD = join(import.meta.dirname, 'ledger-sharing.child.ts')
const MERCHANTS = Array.from({ length: 40 }, (_, number) => `m${number}`)

test('a process that is killed loses nothing, and the others decide its shards at once', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-ledger-sharing-'))
  const opened = await openStore({ database: 'balances', directory, timeout_ms: HANG_LIMIT_MS })
  const store = await openLedgerStore(opened, ledger_signer)
  const own = await startProcess(store)
  const child = spawn(process.execPath, [CHILD, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [address] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const isChildOwner = (merchant: string): boolean =>
    rankShardOwners(shardOf(merchant, 'test'), [own.address, address])[0] === address
  const child_merchants = MERCHANTS.filter(isChildOwner)
  expect(child_merchants.length).toBeGreaterThan(0)

  let credits = 0n
  const submitToAll = async (merchants: readonly string[]): Promise<ReadonlySet<number>> => {
    own.takeDecided()
    credits += 1n
    const commands = merchants.map((merchant) => credit(`${credits} ${merchant}`, 1n, merchant))
    await Promise.all(commands.map((command) => own.ledger.submit('test', command)))
    return own.takeDecided()
  }
  await eventually(
    () => submitToAll(child_merchants),
    (decided) => decided?.size === 0,
  )

  // The kill meets commands on their way: each of them is decided, by one process or the other.
  const burst = Promise.all(Array.from({ length: 20 }, () => submitToAll(child_merchants)))
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await Promise.all([burst, exit])
  const shards = new Set(child_merchants.map((merchant) => shardOf(merchant, 'test')))
  expect(await submitToAll(child_merchants)).toEqual(shards)
  for (const merchant of child_merchants)
    expect(await own.ledger.accounts('test', merchant)).toMatchObject([{ available: credits }])
  expect(await verifyLedger(store)).toMatchObject({ problems: [] })
  await own.stop()
  await opened.close()
  await rm(directory, { recursive: true, force: true })
}, 120_000)
