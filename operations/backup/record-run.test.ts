import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { readConfig } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import type { OperationRun } from '#lib/patterns/operation-runs.ts'
import { openStore } from '#lib/store/open.ts'
import { DATABASE_SETTINGS } from '../databases.ts'
import { openOperationRuns, recordRun } from './record-run.ts'

let home: string
let printed: string[]
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'multihub-record-'))
  printed = []
})
afterEach(() => rm(home, { recursive: true, force: true }))

const commandOf = () => ({
  config: readConfig(DATABASE_SETTINGS, { MULTIHUB_HOME: home }),
  kind: 'backup' as const,
  output: { printProgress: (line: string) => printed.push(line) },
})

async function storedRuns(): Promise<readonly OperationRun[]> {
  const store = await openStore({ database: 'multihub_backoffice', directory: join(home, 'data') })
  try {
    return await (await openOperationRuns(store)).list('backup')
  } finally {
    await store.close()
  }
}

// O23
test('a run is stored before its work begins, and its end after it', async () => {
  expect(await storedRuns()).toEqual([])
  let during: readonly OperationRun[] = []
  await recordRun(commandOf(), async (covered_until) => {
    during = await storedRuns()
    return { bytes: 5n, covered_until }
  })
  expect(during).toHaveLength(1)
  expect(during[0]?.ended_at).toBeUndefined()
  const [run] = await storedRuns()
  expect(run).toMatchObject({ run_id: during[0]?.run_id, bytes: 5n, covered_until: run?.began_at })
  expect(run?.succeeded_at).toEqual(run?.ended_at)
  expect(printed).toEqual([])
})

test('a failed run has the sentence that it ended with, and is no success', async () => {
  await storedRuns()
  const failing = recordRun(commandOf(), async () => {
    throw new StartError(`the disk is full: ${'x'.repeat(600)}`)
  })
  await expect(failing).rejects.toThrow('the disk is full')
  const [run] = await storedRuns()
  expect(run?.failure).toMatch(/^the disk is full: x{480,490}$/)
  expect([run?.ended_at === undefined, run?.succeeded_at]).toEqual([false, undefined])
})

test('a command without a database to record in does its work, says so, and creates nothing', async () => {
  let has_worked = false
  await recordRun(commandOf(), async () => {
    has_worked = true
    return {}
  })
  expect(has_worked).toBe(true)
  expect(printed).toHaveLength(2)
  expect(printed[0]).toMatch(/^this run is not recorded, so the console and the alerts do not know of it: /)
  expect(await readdir(home)).toEqual([])
})
