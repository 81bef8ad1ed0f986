import { clock, every } from '#lib/base/time.ts'
import {
  type BackupPlace,
  isExpected,
  OPERATION_KINDS,
  type OperationRuns,
} from '#lib/patterns/operation-runs.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge, measureOrForget } from '#lib/telemetry/metrics.ts'

const MEASURE_MS = 15_000
/** A success that began further in the future was recorded by a wrong clock: its age is unknown, so it counts as none. */
const CLOCKS_DIFFER_MS = 60_000

const success_age_seconds = gauge(
  'multihub_operation_success_age_seconds',
  'Time since the newest success of a command on the databases began, in the whole store; +Inf when it never succeeded. Backups that `MULTIHUB_BACKUPS` says are made elsewhere have none.',
  ['kind'],
)

/**
 * Measures the age of the newest success of each command, in the whole store. Without its result the metric has no value. A command
 * that never succeeded is infinitely old, so that the alert for an old backup covers a missing one. Backups that are made elsewhere
 * have no age here, so no alert fires for them.
 */
export function measureOperationAges(
  runs: Pick<OperationRuns, 'lastSuccess'>,
  backups: BackupPlace,
): Promise<void> {
  const kinds = OPERATION_KINDS.filter((kind) => isExpected(kind, backups))
  return measureOrForget(
    async () => {
      for (const kind of kinds) {
        const success = await runs.lastSuccess(kind)
        const age_ms = success ? clock.now_ms() - success.began_at.getTime() : Number.POSITIVE_INFINITY
        const is_known = age_ms >= -CLOCKS_DIFFER_MS
        success_age_seconds.set({ kind }, is_known ? Math.max(0, age_ms) / 1_000 : Number.POSITIVE_INFINITY)
      }
    },
    () => {
      for (const kind of kinds) success_age_seconds.remove({ kind })
    },
  )
}

/** Measures them on a schedule. */
export function watchOperationAges(runs: Pick<OperationRuns, 'lastSuccess'>, backups: BackupPlace) {
  return every(
    MEASURE_MS,
    () => measureOperationAges(runs, backups),
    (error) => log.debug({ error }, 'the ages of backups and verifications could not be measured'),
  )
}
