import { startChild } from '../child-process.ts'
import type { Load, LoadReport } from './load.ts'

/** A load generator in its own process. */
export interface LoadClient {
  /** Throws on any unexpected response, because a server that fails at once would look fast. */
  send(load: Load): Promise<LoadReport>
  stop(): void
}

/** Starts a load client. One client serves both sides of a benchmark. */
export async function startLoadClient(): Promise<LoadClient> {
  const child = await startChild('./load/load.child.ts')
  return {
    async send(load) {
      const report = (await child.request(load)) as LoadReport
      if (report.failures !== 0) throw new Error(`the load client failed: ${JSON.stringify(report)}`)
      return report
    },
    stop: child.kill,
  }
}

/** Requests per second. */
export function rateOf({ requests, elapsed_ms }: Pick<LoadReport, 'requests' | 'elapsed_ms'>): number {
  return (requests / elapsed_ms) * 1_000
}
