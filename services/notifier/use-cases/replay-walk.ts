import { every } from '#lib/base/time.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { createDueWalk } from '#lib/patterns/due-walk.ts'
import { log } from '#lib/telemetry/log.ts'
import { type ReplayDeliveriesDeps, runReplay } from './replay-deliveries.ts'

const WALK_MS = 5_000

/** Goes on, every few seconds, with the replays whose notifier has crashed. `stop` waits for those of this process. */
export function startReplayWalk(
  deps: ReplayDeliveriesDeps,
  clock_guard: ClockGuard,
): { stop(): Promise<void> } {
  const { replays, background, isStopping } = deps
  let is_stopping = false
  const walk = createDueWalk(replays, 'by_wake', {
    hasRoom: () => !is_stopping && !isStopping() && clock_guard.isTrusted(),
    visit: (replay) => runReplay(deps, replay),
  })
  const onError = (error: unknown): void => log.warn({ error }, 'interrupted replays could not be continued')
  const timer = every(WALK_MS, () => background.track(walk(), onError), onError)
  return {
    async stop() {
      is_stopping = true
      timer.cancel()
      await background.ended()
    },
  }
}
