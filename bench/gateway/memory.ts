import { residentMemory } from '../../test/support/process-use.ts'
import { type LoadClient, startLoadClient } from '../load/client.ts'
import type { BenchResult } from '../result.ts'
import { printProgress } from '../rounds.ts'
import { type GatewayServer, startGateway } from './server.ts'

const EARLY_REQUESTS = 20_000
const LATE_REQUESTS = 200_000
const MEGABYTE = 1_048_576
/** The memory may grow by a tenth. */
const GOAL = { ratio: 1 / 1.1 }

interface Memory {
  readonly resident_mb: number
  readonly heap_mb: number
}

/** The memory of the gateway after 200,000 requests and a full garbage collection. The baseline is 20,000 requests. */
export async function benchMemory(): Promise<BenchResult[]> {
  printProgress('gateway memory after 200,000 requests')
  const server = await startGateway('gateway')
  const client = await startLoadClient()
  try {
    const early = await memoryAfter(EARLY_REQUESTS, server, client)
    const late = await memoryAfter(LATE_REQUESTS - EARLY_REQUESTS, server, client)
    return [
      growthResult('gateway heap after 200,000 requests', early.heap_mb, late.heap_mb),
      growthResult('gateway memory after 200,000 requests', early.resident_mb, late.resident_mb),
    ]
  } finally {
    client.stop()
    await server.stop()
  }
}

async function memoryAfter(
  requests: number,
  { child, load }: GatewayServer,
  client: LoadClient,
): Promise<Memory> {
  let sent = 0
  while (sent < requests) sent += (await client.send({ ...load, duration_ms: 500 })).requests
  const heap_bytes = Number(await child.request({}))
  return { heap_mb: heap_bytes / MEGABYTE, resident_mb: await residentMemory(child.pid) }
}

function growthResult(name: string, baseline: number, ours: number): BenchResult {
  return { name, ours, baseline, unit: 'MB', ratio: baseline / ours, goal: GOAL }
}
