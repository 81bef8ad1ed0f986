import { startChild } from '../child.ts'
import type { LoadOrder, LoadReport } from './load.ts'

/** The load client, in a process of its own. */
export interface LoadClient {
  /** Throws when any answer was not 200: what fails fast would look fast. */
  load(order: LoadOrder): Promise<LoadReport>
  end(): void
}

/** Starts a load client; one serves both sides of a benchmark. */
export async function startLoadClient(): Promise<LoadClient> {
  const child = await startChild('./load/load.child.ts')
  return {
    async load(order) {
      const report = (await child.ask(order)) as LoadReport
      if (report.failures !== 0) throw new Error(`the load client failed: ${JSON.stringify(report)}`)
      return report
    },
    end: child.end,
  }
}

/** Exchanges a second. */
export function rateOf({ exchanges, elapsed_ms }: Pick<LoadReport, 'exchanges' | 'elapsed_ms'>): number {
  return (exchanges / elapsed_ms) * 1_000
}
