import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  createOperationRuns,
  OPERATION_RUNS,
  type OperationRun,
  type OperationRuns,
} from '#lib/patterns/operation-runs.ts'
import { metricsText, resetMetrics } from '#lib/telemetry/metrics.ts'
import { startDoor, type TestDoor } from './backoffice.fixture.ts'
import { measureOperationAges } from './operation-ages.ts'

const LIST = 'multihub.backoffice.v1.OperationService/ListOperations'
const OVERVIEW = 'multihub.backoffice.v1.OverviewService/GetOverview'
const BEGAN = new Date('2026-01-02T03:04:05Z')
const ENDED = new Date('2026-01-02T03:05:05Z')

let door: TestDoor
let token: string
let runs: OperationRuns
beforeAll(async () => {
  door = await startDoor([])
  token = (await door.newPrincipal(['read'])).token
  const store = door.roles.storeOf('backoffice')
  runs = createOperationRuns(await store.collection<OperationRun>(OPERATION_RUNS))
})
afterAll(async () => door[Symbol.asyncDispose]())

async function ageOf(kind: string): Promise<string | undefined> {
  await measureOperationAges(runs, 'claim')
  return new RegExp(`multihub_operation_success_age_seconds\\{kind="${kind}"\\} (\\S+)`).exec(
    await metricsText(),
  )?.[1]
}

// O23
test('before the first success the overview says so, and its age is infinite', async () => {
  const { body } = await door.call(token, OVERVIEW, {})
  const lastOutcome = 'OPERATION_OUTCOME_UNSPECIFIED'
  expect(body.operations).toEqual([
    { kind: 'OPERATION_KIND_BACKUP', lastOutcome },
    { kind: 'OPERATION_KIND_VERIFY', lastOutcome },
  ])
  expect(await ageOf('backup')).toBe('+Inf')
})

// O23
test('runs are listed by kind or all together, the newest first, and only with the right read', async () => {
  const run = { run_id: 'a', release: '1.2.3', began_at: BEGAN }
  await runs.record({
    ...run,
    kind: 'backup',
    ended_at: ENDED,
    succeeded_at: ENDED,
    bytes: 12n,
    covered_until: BEGAN,
  })
  await runs.record({ ...run, kind: 'backup', run_id: 'b', began_at: ENDED })
  await runs.record({
    ...run,
    kind: 'verify',
    began_at: new Date(0),
    ended_at: ENDED,
    failure: '2 problems were found',
  })
  const { body } = await door.call(token, LIST, {})
  expect(body.runs).toMatchObject([
    { runId: 'b', kind: 'OPERATION_KIND_BACKUP', outcome: 'OPERATION_OUTCOME_UNFINISHED' },
    {
      runId: 'a',
      outcome: 'OPERATION_OUTCOME_SUCCEEDED',
      beginTime: '2026-01-02T03:04:05Z',
      endTime: '2026-01-02T03:05:05Z',
      bytes: '12',
      coveredTime: '2026-01-02T03:04:05Z',
      release: '1.2.3',
    },
    { kind: 'OPERATION_KIND_VERIFY', outcome: 'OPERATION_OUTCOME_FAILED', failure: '2 problems were found' },
  ])
  const verified = await door.call(token, LIST, { kind: 'OPERATION_KIND_VERIFY' })
  expect(verified.body.runs).toHaveLength(1)
  const merchant = await door.newPrincipal(['read'], '7001')
  expect(await door.call(merchant.token, LIST, {})).toMatchObject({ status: 403 })
})

// O23
test('the age counts from the beginning of the newest success, whatever has run since', async () => {
  const age_s = Number(await ageOf('backup'))
  expect(Math.abs(age_s - (Date.now() - BEGAN.getTime()) / 1_000)).toBeLessThan(60)
  expect(await ageOf('verify')).toBe('+Inf')
})

// O23
test('a success that began in the future counts as none, but for clocks that differ a little', async () => {
  const now_ms = Date.now()
  const record = async (run_id: string, began_ms: number): Promise<void> => {
    const began_at = new Date(began_ms)
    await runs.record({
      run_id,
      release: '1.2.3',
      kind: 'verify',
      began_at,
      ended_at: began_at,
      succeeded_at: began_at,
    })
  }
  await record('soon', now_ms + 50_000)
  expect(await ageOf('verify')).toBe('0')
  await record('in a year', now_ms + 365 * 86_400_000)
  expect(await ageOf('verify')).toBe('+Inf')
})

// O23
test('where backups are made elsewhere, neither the overview nor the metric has them, so no alert fires', async () => {
  await using elsewhere = await startDoor([], { MULTIHUB_BACKUPS: 'elsewhere' })
  const { body } = await elsewhere.call((await elsewhere.newPrincipal(['read'])).token, OVERVIEW, {})
  expect(body.operations).toMatchObject([{ kind: 'OPERATION_KIND_VERIFY' }])
  const store = elsewhere.roles.storeOf('backoffice')
  const none = createOperationRuns(await store.collection<OperationRun>(OPERATION_RUNS))
  resetMetrics()
  await measureOperationAges(none, 'elsewhere')
  expect(await metricsText()).not.toContain('multihub_operation_success_age_seconds{kind="backup"}')
  expect(await metricsText()).toContain('multihub_operation_success_age_seconds{kind="verify"}')
})
