import { join } from 'node:path'
import { randomHex } from '#lib/base/crypto/random.ts'
import type { Direction } from '#lib/contract/payment-methods.ts'
import { V1_PATH } from '../../gateway/paths.ts'
import { startProcess } from '../../test/support/child.ts'
import { ANY_PORTS } from '../../test/support/free-port.ts'
import { merchantClient } from '../../test/support/merchant.ts'
import { startChild } from '../child-process.ts'
import type { Load } from '../load/load.ts'
import { startSystem } from '../system.ts'

const CONCURRENCY = 64
const ROUND_MS = 1_500

/** Small, so that the opening balance pays for all withdrawals. */
export const COMPLETED_VALUE = 1_000

/** How long the sandbox waits before it completes a payment. It is subtracted, because no process works meanwhile. */
export const SANDBOX_DELAY_MS = 1_000

/** A process that serves `payment.in` and `payment.out`: one of the two sides of a comparison. */
export interface PaymentServer {
  readonly pid: number
  readonly load: Omit<Load, 'body'>
  /** The routes of the payments. */
  readonly service_ids: Readonly<Record<Direction, number>>
  /** The number of payments that it has completed since its start, including their ledger writes. */
  countCompleted(direction: Direction): Promise<number>
  stop(): Promise<void> | void
}

/** The sandbox provider of a comparison: in the process of each server, or in one process for both. */
export interface Sandbox {
  /** Its settings for the system. */
  readonly variables: Readonly<Record<string, string>>
  /** Its settings for a bare pipeline. */
  readonly pipeline_variables: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** Starts one side of a comparison, with its data in `directory`. */
export type StartServer = (directory: string, sandbox: Sandbox) => Promise<PaymentServer>

/** The settings of a process with the sandbox role, except its home folder. */
function sandboxSettings(key: string): Record<string, string> {
  return {
    MULTIHUB_MASTER_KEYS: `bench:${randomHex(32)}`,
    MULTIHUB_SANDBOX_KEY: key,
    MULTIHUB_SANDBOX_DELAY: `${SANDBOX_DELAY_MS}ms`,
    ...ANY_PORTS,
  }
}

/** The settings with which each server runs a sandbox in its own process. */
export function sandboxInProcess(key: string): Sandbox {
  return {
    variables: { MULTIHUB_SANDBOX_KEY: key, MULTIHUB_SANDBOX_DELAY: `${SANDBOX_DELAY_MS}ms` },
    pipeline_variables: sandboxSettings(key),
    stop: async () => {},
  }
}

/** Starts a sandbox in a process of its own, which both servers use. */
export async function startSeparateSandbox(directory: string, key: string): Promise<Sandbox> {
  const home = { MULTIHUB_HOME: join(directory, 'sandbox') }
  const sandbox = await startProcess('main.ts', ['sandbox'], { ...sandboxSettings(key), ...home })
  const url = sandbox.urls['sandbox_url'] ?? ''
  const variables = { MULTIHUB_SANDBOX_URL: url, MULTIHUB_SANDBOX_KEY: key }
  return { variables, pipeline_variables: variables, stop: sandbox.kill }
}

/** The part of the load that is the same for all servers. */
const COMMON_LOAD = { path: V1_PATH, concurrency: CONCURRENCY, duration_ms: ROUND_MS }

/** Starts the system as `npm start` runs it. */
export async function startWholeSystem(directory: string, { variables }: Sandbox): Promise<PaymentServer> {
  const system = await startSystem(join(directory, 'system'), variables)
  try {
    const merchant = merchantClient(() => system.demo)
    const { secret, application_id } = merchant.credential
    // A held amount still belongs to the merchant. Deposits and withdrawals are counted apart only by their rounds.
    const total = async (): Promise<number> => {
      const { value, value_freezing } = await merchant.balance()
      return value + value_freezing
    }
    const opening_total = await total()
    const port = Number(new URL(system.demo.base_url).port)
    return {
      pid: system.pid,
      service_ids: { in: merchant.route({}), out: merchant.route({ direction: 'out', method: 'imps' }) },
      load: { ...COMMON_LOAD, port, application_id: String(application_id), secret },
      async countCompleted(direction) {
        const change = (await total()) - opening_total
        return (direction === 'in' ? change : -change) / COMPLETED_VALUE
      },
      stop: () => system.kill(),
    }
  } catch (error) {
    await system.kill()
    throw error
  }
}

/** Starts the bare pipeline. */
export function startBarePipeline(directory: string, sandbox: Sandbox): Promise<PaymentServer> {
  return startPipeline('./payment/baseline.child.ts', join(directory, 'baseline'), sandbox)
}

/** Starts the pipeline that does the storage and the messages which the contract requires of a deposit. */
export function startRequiredIo(directory: string, sandbox: Sandbox): Promise<PaymentServer> {
  return startPipeline('./payment/required-io.child.ts', join(directory, 'required-io'), sandbox)
}

/** Starts a pipeline in its own process, with its data in `directory`. The application id is not checked there. */
async function startPipeline(
  file: string,
  directory: string,
  { pipeline_variables }: Sandbox,
): Promise<PaymentServer> {
  const secret = randomHex(32)
  const child = await startChild(file, {
    ...pipeline_variables,
    MULTIHUB_HOME: directory,
    BENCH_SECRET: secret,
    BENCH_DIRECTORY: directory,
  })
  return {
    pid: child.pid,
    service_ids: { in: 501, out: 512 },
    load: { ...COMMON_LOAD, port: Number(child.ready), application_id: '1', secret },
    countCompleted: async () => Number(await child.request({})),
    stop: () => child.kill(),
  }
}
