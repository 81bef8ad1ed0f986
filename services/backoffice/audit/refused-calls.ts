import { clock, every } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import type { OperatorRpc } from '../domain/operator-rpcs.ts'
import type { Principal } from '../domain/principal.ts'
import type { RefusedCall } from '../door/operator-call.ts'

/** Entries that the refused calls of one principal leave at once in each process, and then per minute (O22). */
const ENTRIES_AT_ONCE = 120
const ENTRIES_PER_MINUTE = 10
const MINUTE_MS = 60_000

/** Writes one entry for this number of refused calls. Never rejects. */
type WriteRefusal = (rpc: OperatorRpc, principal: Principal, error: unknown, calls: number) => Promise<void>

/** The refused calls of one principal. One entry with the last of them and their number is written for all that had none. */
interface Refusals {
  entries: number
  filled_ms: number
  calls: number
  last?: readonly [OperatorRpc, Principal, unknown]
}

/**
 * Limits what calls without a right leave in the audit trail, which nobody can shorten. Calls beyond the limit are counted, and
 * one entry per minute and principal says how many they were.
 */
export function createRefusedCalls(write: WriteRefusal) {
  const of_principals = new Map<string, Refusals>()

  function refusedOf({ principal_id }: Principal): Refusals {
    const now_ms = clock.monotonic_ms()
    const existing = of_principals.get(principal_id)
    if (existing === undefined) {
      const fresh = { entries: ENTRIES_AT_ONCE, filled_ms: now_ms, calls: 0 }
      of_principals.set(principal_id, fresh)
      return fresh
    }
    const filled = ((now_ms - existing.filled_ms) / MINUTE_MS) * ENTRIES_PER_MINUTE
    existing.entries = Math.min(ENTRIES_AT_ONCE, existing.entries + filled)
    existing.filled_ms = now_ms
    return existing
  }

  /** Writes the entries that count, and forgets principals whose calls were not refused for long. */
  async function writeCounted(): Promise<void> {
    for (const [principal_id, refused] of of_principals) {
      const { calls, last } = refused
      if (last === undefined) {
        if (clock.monotonic_ms() - refused.filled_ms > (ENTRIES_AT_ONCE / ENTRIES_PER_MINUTE) * MINUTE_MS)
          of_principals.delete(principal_id)
        continue
      }
      refused.calls = 0
      delete refused.last
      await write(...last, calls)
    }
  }
  const repetition = every(MINUTE_MS, writeCounted, (error) =>
    log.error({ error }, 'refused calls could not be counted in the audit trail'),
  )

  const refused: RefusedCall = async (rpc, principal, error) => {
    const current = refusedOf(principal)
    if (current.entries >= 1) {
      current.entries -= 1
      return write(rpc, principal, error, 1)
    }
    current.calls += 1
    current.last = [rpc, principal, error]
  }
  return {
    refused,
    async stop(): Promise<void> {
      await repetition.stop()
      await writeCounted()
    },
  }
}
