import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import {
  createOperationRuns,
  OPERATION_RUNS,
  type OperationRun,
  type OperationRuns,
  RUNS_KEPT_MAX,
} from './operation-runs.ts'

let directory: string
let store: Store
let runs: OperationRuns
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-runs-'))
  store = await openStore({ database: 'backoffice', directory })
  runs = createOperationRuns(await store.collection<OperationRun>(OPERATION_RUNS))
})
afterEach(async () => {
  await store.close()
  await rm(directory, { recursive: true, force: true })
})

const runOf = (number: number, more: Partial<OperationRun> = {}): OperationRun => ({
  kind: 'backup',
  run_id: String(number).padStart(3, '0'),
  release: '1.2.3',
  began_at: new Date(number * 1_000),
  ...more,
})
const succeeded = (number: number): OperationRun =>
  runOf(number, {
    ended_at: new Date(number * 1_000 + 1),
    succeeded_at: new Date(number * 1_000 + 1),
    bytes: 7n,
  })
const idsOf = (found: readonly OperationRun[]): readonly number[] => found.map(({ run_id }) => Number(run_id))

// O23
test('a run is stored when it begins, and replaced when it ends', async () => {
  await runs.record(runOf(1))
  expect(await runs.list('backup')).toMatchObject([{ run_id: '001', began_at: new Date(1_000) }])
  expect(await runs.lastSuccess('backup')).toBeUndefined()
  await runs.record(succeeded(1))
  expect(await runs.list('backup')).toMatchObject([{ run_id: '001', bytes: 7n }])
  expect(await runs.lastSuccess('backup')).toMatchObject({ run_id: '001' })
})

// O23
test('only the newest runs are kept, and the newest success however old it is', async () => {
  await runs.record(succeeded(1))
  await runs.record(succeeded(2))
  for (let number = 3; number < 3 + RUNS_KEPT_MAX; number += 1)
    await runs.record(runOf(number, { ended_at: new Date(), failure: 'the disk is full' }))
  const newest = Array.from({ length: RUNS_KEPT_MAX }, (_, index) => 2 + RUNS_KEPT_MAX - index)
  expect(idsOf(await runs.list('backup'))).toEqual([...newest, 2])
  await runs.record(succeeded(900))
  expect(idsOf(await runs.list('backup'))).toEqual([900, ...newest.slice(0, -1)])
})

test('the runs of one command leave those of another alone', async () => {
  await runs.record(runOf(1, { kind: 'verify' }))
  for (let number = 2; number < 3 + RUNS_KEPT_MAX; number += 1) await runs.record(succeeded(number))
  expect(idsOf(await runs.list('verify'))).toEqual([1])
})
