import { startChild } from '../child-process.ts'

/** What receivers got since the last report. Latencies are from the publication of the event to its arrival. */
export interface ReceiverReport {
  /** The number of different deliveries. */
  readonly distinct: number
  readonly p50_ms: number
  readonly p99_ms: number
}

/** Receivers of callbacks in a process of their own. */
export interface Receivers {
  readonly healthy: readonly string[]
  /** Receivers that accept a callback and never answer. */
  readonly silent: readonly string[]
  /** The number of different deliveries since the last report. The next report counts them too. */
  countDistinct(): Promise<number>
  /** What arrived since the last report. The next one begins anew. */
  report(): Promise<ReceiverReport>
  stop(): void
}

/** Starts receivers. */
export async function startReceivers(healthy: number, silent = 0): Promise<Receivers> {
  const child = await startChild('./notifier/receivers.child.ts')
  const urls = (await child.request({ start: { healthy, silent } })) as Pick<Receivers, 'healthy' | 'silent'>
  return {
    ...urls,
    countDistinct: async () => (await child.request({ count: true })) as number,
    report: async () => (await child.request({})) as ReceiverReport,
    stop: child.kill,
  }
}
