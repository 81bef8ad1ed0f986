import { clock, now } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge, measureOrForget } from '#lib/telemetry/metrics.ts'
import { type LedgerVerification, nextScheduledStart } from '../domain/verification.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import type { Verifications } from '../store/verifications.ts'
import { startVerification } from '../use-cases/verification.ts'
import type { Pace } from './replay-journal.ts'

/** Starts the scheduled verification when it is due, in whichever process notices it first. */
export async function startWhenDue(
  verifications: Verifications,
  schedule: { readonly interval_ms: number; readonly process_started_at: Date },
): Promise<void> {
  const current = await verifications.getCurrent()
  if (nextScheduledStart(current, schedule) <= now())
    await startVerification(verifications, true, schedule.interval_ms / 2)
}

/**
 * The interval that a scheduled verification can keep, in milliseconds, when it cannot end in time even at its fastest; `undefined`
 * while it can. It is an estimate by what this process has verified so far.
 */
export function possibleInterval(
  pace: Pick<Pace, 'fastestEnd_ms'>,
  { due_at, started_at }: LedgerVerification,
): number | undefined {
  const fastest_ms = pace.fastestEnd_ms()
  if (due_at === undefined || fastest_ms === undefined) return undefined
  const end_ms = clock.now_ms() + fastest_ms
  return end_ms > due_at.getTime() ? Math.ceil(2 * (end_ms - started_at.getTime())) : undefined
}

/**
 * Makes the function that looks at the running verification: it drops the pace of one that the operator has made fast, and says once
 * which interval a scheduled one can keep when it cannot end in time.
 */
export function createPaceControl(
  verifications: Pick<Verifications, 'getCurrent'>,
  pace: Pick<Pace, 'fastestEnd_ms' | 'setGoal'>,
): () => Promise<void> {
  let warned_id: string | undefined
  return async () => {
    const current = await verifications.getCurrent()
    if (current?.due_at === undefined) return pace.setGoal(undefined)
    if (current.verification_id === warned_id) return
    const possible_ms = possibleInterval(pace, current)
    if (possible_ms === undefined) return
    warned_id = current.verification_id
    log.warn(
      { reason: `it can keep ${Math.ceil(possible_ms / 60_000)}m` },
      'the ledger cannot be verified within MULTIHUB_VERIFY_INTERVAL; set it to this time at least, or add balances processes',
    )
  }
}

const full_age_seconds = gauge(
  'multihub_ledger_full_verification_age_seconds',
  'Time since the newest verification of the whole ledger from its first batch that has ended began; before the first one has ended, since it began.',
)
const interval_seconds = gauge(
  'multihub_ledger_verify_interval_seconds',
  'MULTIHUB_VERIFY_INTERVAL: the time within which each batch of the ledger is verified again.',
)

/** Measures how old the newest full verification is, in the whole store. A ledger that is not verified yet has no age. */
export function measureAge(
  { verifications }: Pick<LedgerStore, 'verifications'>,
  interval_ms: number,
): Promise<void> {
  interval_seconds.set({}, interval_ms / 1_000)
  return measureOrForget(
    async () => {
      const current = await verifications.getCurrent()
      const since = current?.full_verified_until ?? current?.full_began_at
      if (since === undefined) full_age_seconds.remove({})
      else full_age_seconds.set({}, Math.max(0, clock.now_ms() - since.getTime()) / 1_000)
    },
    () => full_age_seconds.remove({}),
  )
}
