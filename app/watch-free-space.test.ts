import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { measureFreeSpace } from './watch-free-space.ts'

test('the free space of the volume is a metric, and has no value when it cannot be measured', async () => {
  const shown = async () => /^multihub_store_free_bytes (\S+)$/m.exec(await metricsText())?.[1]
  const { blocks, bsize } = await statfs(tmpdir())
  await measureFreeSpace(tmpdir())
  expect(Number(await shown())).toBeGreaterThan(0)
  expect(Number(await shown())).toBeLessThanOrEqual(blocks * bsize)
  await expect(measureFreeSpace(join(tmpdir(), 'multihub-no-such-directory'))).rejects.toThrow('ENOENT')
  expect(await shown()).toBeUndefined()
})
