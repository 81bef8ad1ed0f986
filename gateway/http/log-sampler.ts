import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { clock } from '#lib/base/time.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import { networkOf } from './network.ts'

/**
 * Decides which log lines about callers that are not authenticated are written. It samples them per network, so that such
 * callers cannot fill the log.
 */
export interface LogSampler {
  /**
   * Decides about one line. Returns `undefined` when it must be left out, otherwise how many lines about the network of
   * the address were left out since the last one that was written.
   */
  sampleLine(address: string | undefined): number | undefined
}

/** The limits of a sampler. */
export interface LogSamplerLimits {
  /** Lines per minute about one network. */
  readonly network_lines_max?: number
  /** Lines per minute about all networks. */
  readonly lines_max?: number
}

const MINUTE_MS = 60_000
/** Networks that are remembered; beyond it the one whose last line is the oldest is forgotten. */
const NETWORKS_MAX = 10_000

interface Window {
  opened_ms: number
  lines: number
}

const lines_left_out = counter(
  'multihub_gateway_log_lines_left_out_total',
  'Log lines about callers without authentication that were left out, because there were too many about their network or in total.',
)

/** Makes the sampler of one gateway. */
export function createLogSampler({
  network_lines_max = 20,
  lines_max = 1_000,
}: LogSamplerLimits = {}): LogSampler {
  const networks = new LRUCache<string, Window & { left_out: number }>(entriesUpTo(NETWORKS_MAX))
  const all: Window = { opened_ms: Number.NEGATIVE_INFINITY, lines: 0 }
  const hasRoom = (window: Window, max: number, now_ms: number): boolean => {
    if (now_ms - window.opened_ms >= MINUTE_MS) {
      window.opened_ms = now_ms
      window.lines = 0
    }
    return window.lines < max
  }
  return {
    sampleLine(address) {
      const name = networkOf(address)
      const now_ms = clock.monotonic_ms()
      const existing = networks.get(name)
      const network = existing ?? { opened_ms: now_ms, lines: 0, left_out: 0 }
      if (existing === undefined) networks.set(name, network)
      if (!hasRoom(network, network_lines_max, now_ms) || !hasRoom(all, lines_max, now_ms)) {
        network.left_out += 1
        lines_left_out.increment({})
        return undefined
      }
      network.lines += 1
      all.lines += 1
      const { left_out: left_out_before } = network
      network.left_out = 0
      return left_out_before
    },
  }
}
