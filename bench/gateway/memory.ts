import { type LoadClient, startLoadClient } from '../load/client.ts'
import { residentMemory } from '../process-use.ts'
import type { BenchResult } from '../result.ts'
import { type Side, startSide } from './side.ts'

const EARLY_REQUESTS = 20_000
const LATE_REQUESTS = 200_000
const MEGABYTE = 1_048_576
/** It may grow by a tenth. */
const GOAL = { ratio: 1 / 1.1 }

interface Memory {
  readonly resident_mb: number
  readonly heap_mb: number
}

/** What the gateway holds after 200,000 requests, all garbage collected, beside what it held after 20,000. */
export async function benchMemory(): Promise<BenchResult[]> {
  const side = await startSide('ours')
  const client = await startLoadClient()
  try {
    const early = await memoryAfter(EARLY_REQUESTS, side, client)
    const late = await memoryAfter(LATE_REQUESTS - EARLY_REQUESTS, side, client)
    return [
      grown('gateway heap after 200,000 requests', early.heap_mb, late.heap_mb),
      grown('gateway memory after 200,000 requests', early.resident_mb, late.resident_mb),
    ]
  } finally {
    client.end()
    await side.end()
  }
}

async function memoryAfter(requests: number, { child, order }: Side, client: LoadClient): Promise<Memory> {
  let sent = 0
  while (sent < requests) sent += (await client.load({ ...order, duration_ms: 500 })).exchanges
  const heap_bytes = Number(await child.ask({}))
  return { heap_mb: heap_bytes / MEGABYTE, resident_mb: await residentMemory(child.pid) }
}

function grown(name: string, floor: number, ours: number): BenchResult {
  return { name, ours, floor, unit: 'MB', ratio: floor / ours, goal: GOAL }
}
