import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { ROLES } from '#lib/role/role.ts'
import { openStore } from '#lib/store/open.ts'
import { databaseOf } from '../app/roles.ts'
import { MANIFEST_FILE, type Manifest } from '../operations/backup/manifest.ts'
import { openSealedStore } from '../services/payments/store/payments-store.ts'
import { runToEnd, runUntilEnd } from '../test/support/child.ts'
import { eventually } from '../test/support/eventually.ts'
import { type MerchantClient, merchantClient } from '../test/support/merchant.ts'
import { mongodbForTests } from '../test/support/servers.ts'
import { startOneProcess, type TestSystem } from '../test/support/system.ts'
import { startSeparateSandbox } from './payment/servers.ts'
import type { BenchResult } from './result.ts'
import { printProgress } from './rounds.ts'

const PAYMENTS_MAX = 10_000
const FILL_LIMIT_MS = 45_000
const FILL_AT_ONCE = 32
/** Below what the system can serve, as in ordinary operation. */
const LOAD_AT_ONCE = 4
/** The load before the backup and after it. */
const LOAD_MS = 5_000
const VALUE = 1_000
const GB = 1e9

/** Where a system keeps its state, and how it loses it. */
interface StorePlace {
  readonly name: string
  readonly system_name: string
  readonly mongodb_uri?: string
  /** Whether all databases of a backup are of one instant. */
  readonly is_instant: boolean
  destroy(home: string): Promise<void>
}

/** A deposit whose create was answered with success, and when. */
interface Deposit {
  readonly c_id: string
  readonly acknowledged_ms: number
}

/**
 * `recovery`: what a system loses, and how long it is unavailable, when it loses its databases under load, on embedded files and on the
 * MongoDB-compatible server. The provider is another process, and goes on.
 */
export async function run(): Promise<BenchResult[]> {
  const results = await measureRecovery(embeddedFiles())
  const server = await mongodbForTests()
  if ('skip' in server) {
    printProgress(`recovery on MongoDB is left out: ${server.skip}`)
    return results
  }
  const client = new MongoClient(server.uri)
  const place = mongodb(server.uri, client)
  try {
    return [...results, ...(await measureRecovery(place))]
  } finally {
    await place.destroy('')
    await client.close()
    await server.stop()
  }
}

function embeddedFiles(): StorePlace {
  const destroy = (home: string): Promise<void> => rm(join(home, 'data'), { recursive: true })
  return { name: 'embedded files', system_name: 'multihub', is_instant: true, destroy }
}

function mongodb(mongodb_uri: string, client: MongoClient): StorePlace {
  const system_name = `recovery_${randomHex(4)}`
  async function destroy(): Promise<void> {
    for (const role of ROLES) await client.db(databaseOf(system_name, role)).dropDatabase()
  }
  return { name: 'MongoDB', system_name, mongodb_uri, is_instant: false, destroy }
}

async function measureRecovery(place: StorePlace): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const sandbox = await startSeparateSandbox(directory, randomHex(32))
  const variables = {
    ...sandbox.variables,
    MULTIHUB_MASTER_KEYS: `bench:${randomHex(32)}`,
    MULTIHUB_SYSTEM_NAME: place.system_name,
    MULTIHUB_LOG_LEVEL: 'warn',
    ...(place.mongodb_uri === undefined ? {} : { MONGODB_URI: place.mongodb_uri }),
  }
  const progress = (what: string): void => printProgress(`recovery, ${place.name}, ${what}`)
  let system: TestSystem | undefined
  try {
    const running = await startOneProcess(variables)
    system = running
    const commands = { ...variables, MULTIHUB_HOME: running.home }
    const merchant = merchantClient(running.demo)
    const [without_payments, backup] = [join(directory, 'without-payments'), join(directory, 'backup')]
    await runToEnd('main.ts', ['backup', without_payments], commands)
    progress('payments')
    const fill_end_ms = clock.monotonic_ms() + FILL_LIMIT_MS
    const isFilled = (count: number): boolean => count >= PAYMENTS_MAX || clock.monotonic_ms() > fill_end_ms
    const filled = await createDeposits(merchant, FILL_AT_ONCE, isFilled)
    let is_over = false
    const loading = createDeposits(merchant, LOAD_AT_ONCE, () => is_over)
    await sleep(LOAD_MS)
    progress('backup under load')
    await runToEnd('main.ts', ['backup', backup], commands)
    await sleep(LOAD_MS)
    await running.kill()
    is_over = true
    const deposits = [...filled, ...(await loading)]
    progress('restore without payments')
    await place.destroy(running.home)
    const fixed_ms = await restore(place, without_payments, commands)
    progress('restore')
    await place.destroy(running.home)
    const restore_ms = await restore(place, backup, commands)
    const times = { fixed_ms, restore_ms, ...(await start(place, running, merchant)) }
    progress('what is there')
    const found = await readDeposits(merchant, deposits)
    const manifest: Manifest = JSON.parse(await readFile(join(backup, MANIFEST_FILE), 'utf8'))
    return rowsOf(place.name, { manifest, deposits, times, found })
  } finally {
    await system?.end()
    await sandbox.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Creates deposits, some at once, until `isOver` of their number. A call without a response ends its line: the system is gone. */
async function createDeposits(
  merchant: MerchantClient,
  at_once: number,
  isOver: (count: number) => boolean,
): Promise<readonly Deposit[]> {
  const deposits: Deposit[] = []
  const createInLine = async (): Promise<void> => {
    while (!isOver(deposits.length)) {
      const response = await merchant.deposit(VALUE).catch(() => undefined)
      if (response === undefined) return
      if (response.body.success) deposits.push({ c_id: response.c_id, acknowledged_ms: clock.now_ms() })
    }
  }
  await Promise.all(Array.from({ length: at_once }, createInLine))
  return deposits
}

/** Restores with verification, and returns how long that took, in ms. */
async function restore(
  { is_instant }: StorePlace,
  backup: string,
  variables: Readonly<Record<string, string>>,
): Promise<number> {
  // Payments that were created while an ordered backup ran are in the ledger only: the operator decides about them (R10).
  const admitted = is_instant ? [] : ['--incomplete']
  const words = ['restore', '--erasures', 'none', '--verify', ...admitted, backup]
  const began_ms = clock.monotonic_ms()
  const { code, output, log } = await runUntilEnd('main.ts', words, variables)
  if (code !== 0 && (is_instant || !output.includes(' is restored')))
    throw new Error(`the restore ended with ${code}:\n${output}\n${log}`)
  return clock.monotonic_ms() - began_ms
}

interface RecoveryTimes {
  /** The restore of a system without payments. */
  readonly fixed_ms: number
  readonly restore_ms: number
  /** From the end of the restore until the first payment is accepted. */
  readonly start_ms: number
  /** The payments that were restored without a final status. */
  readonly open_count: number
  /** When the first payment was accepted. */
  readonly accepted_at_ms: number
}

/** Starts the restored system, and creates a payment. */
async function start(place: StorePlace, system: TestSystem, merchant: MerchantClient) {
  const open_count = await countOpen(place, system.home, merchant)
  const restored_ms = clock.monotonic_ms()
  await system.start()
  await eventually(
    () => merchant.deposit(VALUE),
    (response) => response?.body.success === true,
  )
  const accepted_at_ms = clock.monotonic_ms()
  return { start_ms: accepted_at_ms - restored_ms, open_count, accepted_at_ms }
}

async function countOpen(
  { system_name, mongodb_uri }: StorePlace,
  home: string,
  { merchant: { merchant_id } }: MerchantClient,
): Promise<number> {
  const location = mongodb_uri === undefined ? {} : { mongodb_uri: new Secret(mongodb_uri) }
  const database = databaseOf(system_name, 'payments')
  const store = await openStore({ database, directory: join(home, 'data'), schema: 'verify', ...location })
  try {
    const { payments } = await openSealedStore(store)
    const found = await Promise.all(
      ['created', 'processing'].map((status) =>
        payments.find('by_merchant_status', { equals: [merchant_id, 'test', status] }, { limit: 1_000 }),
      ),
    )
    return found.flat().length
  } finally {
    await store.close()
  }
}

/** Which deposits the restored system does not have, and when the last of those became final that were open at the first look. */
async function readDeposits(merchant: MerchantClient, deposits: readonly Deposit[]) {
  const lost: Deposit[] = []
  const left = [...deposits]
  let final_at_ms = clock.monotonic_ms()
  const readInLine = async (): Promise<void> => {
    for (let deposit = left.pop(); deposit !== undefined; deposit = left.pop()) {
      const { c_id } = deposit
      let looks = 0
      const response = await eventually(
        () => {
          looks += 1
          return merchant.status(c_id)
        },
        (seen) => seen?.body.error?.code === 6010 || seen?.body.result?.payment.status.final,
      )
      if (response.body.error?.code === 6010) lost.push(deposit)
      else if (looks > 1) final_at_ms = clock.monotonic_ms()
    }
  }
  // The newest first: they can be open.
  await Promise.all(Array.from({ length: FILL_AT_ONCE }, readInLine))
  return { lost, final_at_ms }
}

interface Findings {
  readonly manifest: Manifest
  readonly deposits: readonly Deposit[]
  readonly times: RecoveryTimes
  readonly found: Awaited<ReturnType<typeof readDeposits>>
}

function rowsOf(store: string, { manifest, deposits, times, found }: Findings): BenchResult[] {
  const began_ms = Date.parse(manifest.began_at)
  const bytes = manifest.contents.reduce((sum, content) => sum + content.bytes, 0)
  const restored = deposits.length - found.lost.length
  const { fixed_ms, restore_ms, start_ms, open_count, accepted_at_ms } = times
  const growing_ms = restore_ms - fixed_ms
  const acknowledged_before = deposits.filter(({ acknowledged_ms }) => acknowledged_ms < began_ms)
  const lost_before = found.lost.filter(({ acknowledged_ms }) => acknowledged_ms < began_ms)
  const oldest_lost_ms = Math.min(...found.lost.map(({ acknowledged_ms }) => acknowledged_ms))
  const row = (what: string, ours: number, unit: string): BenchResult => ({
    name: `recovery, ${store}, ${what}`,
    ours,
    unit,
  })
  return [
    row('restored', restored, 'payments'),
    row('size of the backup', bytes / 1e6, 'MB'),
    row('backup under load', Date.parse(manifest.ended_at) - began_ms, 'ms'),
    row('restore with verification', restore_ms, 'ms'),
    row('restore of a system without payments', fixed_ms, 'ms'),
    row('start until the first accepted payment', start_ms, 'ms'),
    row('RTO', restore_ms + start_ms, 'ms'),
    row('rest of it per 10,000 payments', (growing_ms / restored) * 10_000, 'ms'),
    row('rest of it per GB of backup', (growing_ms / bytes) * GB, 'ms'),
    row('acknowledged before the backup began', acknowledged_before.length, 'payments'),
    {
      ...row('of these lost', lost_before.length, 'payments'),
      goal: { at_most: 0 },
    },
    row('acknowledged after that, lost', found.lost.length - lost_before.length, 'payments'),
    row('oldest lost, after the begin of the backup', oldest_lost_ms - began_ms, 'ms'),
    row('restored without a final status', open_count, 'payments'),
    row('all of them final, after the first accepted payment', found.final_at_ms - accepted_at_ms, 'ms'),
  ]
}
