import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomHex } from '#lib/base/crypto/random.ts'
import { startLoadClient } from '../load/client.ts'
import { printProgress } from '../rounds.ts'
import { type BenchSystem, startSystem } from '../system.ts'
import { copyPayments } from './copy-payments.ts'
import { sendUntilCompleted } from './load.ts'
import { sandboxInProcess, startWholeSystem } from './servers.ts'

const WARM_UP = { requests_per_second: 50, duration_ms: 2_000 }

/** Runs with a whole system in one process that has so many stored payments of one merchant, and deletes it afterwards. */
export async function withStoredPayments<T>(
  count: number,
  use: (system: BenchSystem) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const sandbox = sandboxInProcess(randomHex(32))
  try {
    await storePayments(directory, sandbox, count)
    const system = await startSystem(join(directory, 'system'), sandbox.variables)
    try {
      return await use(system)
    } finally {
      await system.kill()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Completes some payments, and stores copies of one while the system is stopped. */
async function storePayments(
  directory: string,
  sandbox: ReturnType<typeof sandboxInProcess>,
  count: number,
): Promise<void> {
  const client = await startLoadClient()
  const server = await startWholeSystem(directory, sandbox)
  try {
    await sendUntilCompleted(client, { server, direction: 'in' }, WARM_UP)
  } finally {
    await server.stop()
    client.stop()
  }
  printProgress(`${count} payments`)
  await copyPayments(join(directory, 'system'), count)
}
