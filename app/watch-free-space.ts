import { statfs } from 'node:fs/promises'
import { every } from '#lib/base/time.ts'
import { simulatedNetwork } from '#lib/http/network.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge, measureOrForget } from '#lib/telemetry/metrics.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { ProcessConfig } from './process-settings.ts'

const MEASURE_MS = 15_000

const free_bytes = gauge(
  'multihub_store_free_bytes',
  'Bytes that are free for this process on the volume of its embedded files. Without embedded files it has no value.',
)

/** Measures the free space of the volume of a directory. Without its result the metric has no value. */
export function measureFreeSpace(directory: string): Promise<void> {
  return measureOrForget(
    async () => {
      const { bavail, bsize } = await statfs(directory)
      free_bytes.set({}, bavail * bsize)
    },
    () => free_bytes.remove({}),
  )
}

/** Measures it on a schedule while the process has embedded files. A simulated process has no volume of its own. */
export function watchFreeSpace(lifecycle: Lifecycle, { mongodb_uri, home }: ProcessConfig): void {
  if (mongodb_uri !== undefined || simulatedNetwork() !== undefined) return
  const timer = every(
    MEASURE_MS,
    () => measureFreeSpace(home),
    (error) => log.debug({ error }, 'the free space of the embedded files could not be measured'),
  )
  lifecycle.onStop('free space', () => timer.cancel())
}
