import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProcess } from '../../test/support/child.ts'
import { ANY_PORTS } from '../../test/support/free-port.ts'
import type { Demo } from '../../test/support/merchant.ts'
import { type Operator, operatorOf } from '../../test/support/operator.ts'
import { callbackSecret, startReceiver } from '../../test/support/receiver.ts'
import { verifyLedgerOf } from '../../test/support/verification.ts'
import { createLogWatch, type LogWatch } from './log-watch.ts'
import { createFuzzMerchant, type FuzzMerchant } from './merchant.ts'
import { createSender, prepare, type Sender } from './prepare.ts'
import { type FuzzSetup, PRIVATE_TEXTS } from './requests.ts'
import { METHOD_PATHS } from './signing.ts'

/** A running system with everything that the fuzzer needs. */
export interface FuzzSystem extends FuzzSetup {
  readonly port: number
  readonly log: LogWatch
  /** A nonce that the v2 credential used recently. It is renewed every few seconds, because the gateway forgets nonces. */
  readonly used_nonce: { nonce(): string; renew(): Promise<void> }
  readonly send: Sender
  /** All payments, deliveries, balances, anomalies and stuck effects. */
  storedState(): Promise<object>
  /** The memory of its process. */
  memory(): Promise<Memory>
  /** The end of the log, for the report of a crash. */
  logTail(): string
  end(): Promise<void>
}

/** The memory that a process reports. */
export interface Memory {
  readonly resident_bytes: number
  readonly heap_bytes: number
}

const LOG_TAIL_CHARACTERS = 2_000

/** Free ports, and a flood limit that does not hide other results. */
const ENVIRONMENT = { ...ANY_PORTS, MULTIHUB_FLOOD_LIMIT: '1000000' }

/** Starts a whole system in its own process and stores what the fuzzer needs. */
export async function startFuzzSystem(): Promise<FuzzSystem> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-fuzz-'))
  const receiver = await startReceiver()
  const system = await startProcess('scripts/start.ts', [], { ...ENVIRONMENT, MULTIHUB_HOME: home })
  const end = async (): Promise<void> => {
    await system.kill()
    await receiver.stop()
    await rm(home, { recursive: true, force: true })
  }
  try {
    const demo: Demo = JSON.parse(await readFile(join(home, 'demo.json'), 'utf8'))
    const operator = operatorOf(demo)
    const merchant = await createFuzzMerchant(operator)
    const port = Number(new URL(demo.base_url).port)
    const send = createSender(merchant, port)
    const known = await prepare(merchant, send, operator, receiver.url)
    const spent = await useNonce(merchant, send)

    const log = createLogWatch(await forbiddenTexts(home, demo, merchant))
    // The greeting of a first start is not JSON.
    log.read(system.log().replace(/^(?!\{).*\n/gm, ''))
    system.child.stderr?.on('data', (chunk: Buffer) => log.read(chunk.toString()))
    const merchants = [...demo.merchants.map(({ merchant_id }) => merchant_id), merchant.merchant_id]
    return {
      ...known,
      port,
      log,
      used_nonce: spent,
      send,
      end,
      storedState: () => stateOf(operator, merchants),
      memory: () => memoryOf(demo),
      logTail: () => system.log().slice(-LOG_TAIL_CHARACTERS),
    }
  } catch (error) {
    await end()
    throw error
  }
}

async function useNonce({ usable }: FuzzMerchant, send: Sender): Promise<FuzzSystem['used_nonce']> {
  let nonce = ''
  const renew = async (): Promise<void> => {
    const fresh = randomUUID()
    const pair = { timestamp: String(Math.floor(Date.now() / 1000)), nonce: fresh }
    const body = { method: 'gateway.ping', params: {} }
    await send({ body, target: METHOD_PATHS.v2, credential: usable.v2, pair })
    nonce = fresh
  }
  await renew()
  return { nonce: () => nonce, renew }
}

/** All secrets, derived ones included, and the personal data that the fuzzer sends. */
async function forbiddenTexts(
  home: string,
  demo: Demo,
  { usable, refused }: FuzzMerchant,
): Promise<ReadonlyMap<string, string>> {
  const keys: Record<string, string> = JSON.parse(await readFile(join(home, 'keys.json'), 'utf8'))
  const own = [usable.v1, usable.v2, ...refused].flatMap(({ secrets }) => secrets)
  const demonstration = demo.merchants.flatMap(({ credentials }) => credentials.map(({ secret }) => secret))
  const api_secrets = [...own, ...demonstration]
  return new Map([
    ...api_secrets.map((text) => [text, 'an API secret'] as const),
    ...api_secrets.map((text) => [callbackSecret(text), 'a callback secret'] as const),
    ...Object.entries(keys).map(([name, text]) => [text, name] as const),
    ...Object.entries(PRIVATE_TEXTS).map(([name, text]) => [text, name] as const),
  ])
}

/** Reads all pages, so that every change is seen. */
async function stateOf(operator: Operator, merchants: readonly string[]): Promise<object> {
  const listed = (rpc: string, field: string, request: object = {}): Promise<unknown[]> =>
    listAll(operator, rpc, field, request)
  const of_merchants = await Promise.all(
    merchants.map(async (merchantId) => ({
      payments: await listed('multihub.payments.v1.PaymentService/ListPayments', 'payments', { merchantId }),
      deliveries: await listed('multihub.notifier.v1.DeliveryService/ListDeliveries', 'deliveries', {
        merchantId,
      }),
      balances: await operator('multihub.balances.v1.BalanceService/GetBalances', {
        merchantId,
        environment: 'ENVIRONMENT_TEST',
      }),
    })),
  )
  return {
    of_merchants,
    anomalies: await listed('multihub.payments.v1.PaymentService/ListAnomalies', 'anomalies'),
    stuck: await listed('multihub.payments.v1.PaymentService/ListStuckEffects', 'effects'),
    ledger: await ledgerOf(operator),
  }
}

/** Leaves out ids and times, which differ in each verification. */
async function ledgerOf(operator: Operator): Promise<object> {
  const { consistent, batches, entries, problems } = await verifyLedgerOf(operator)
  return { consistent, batches, entries, problems }
}

async function listAll(operator: Operator, rpc: string, field: string, request: object): Promise<unknown[]> {
  const all: unknown[] = []
  let pageToken = ''
  do {
    const page = await operator(rpc, { ...request, pageSize: 100, pageToken })
    all.push(...(page[field] ?? []))
    pageToken = page.nextPageToken ?? ''
  } while (pageToken !== '')
  return all
}

async function memoryOf({ health_url }: Demo): Promise<Memory> {
  const text = await (await fetch(`${health_url}/metrics`)).text()
  const read = (name: string): number => {
    const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]
    if (value === undefined) throw new Error(`the metrics have no ${name}`)
    return Number(value)
  }
  const heap_bytes = read('nodejs_heap_size_used_bytes') + read('nodejs_external_memory_bytes')
  return { resident_bytes: read('process_resident_memory_bytes'), heap_bytes }
}
