import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { randomHex } from '#lib/base/crypto/random.ts'
import { runsSuite } from '../suites/runs.suite.ts'
import { newOrderOfLanes, openEffectsSystem } from '../support/effects-system.ts'
import { eventually } from '../support/eventually.ts'
import { IS_WHOLE } from '../support/property-runs.ts'
import { startPrivateMongoProxy } from '../support/servers.ts'

const folder = await mkdtemp(join(tmpdir(), 'multihub-runs-'))
const mongodb = await startPrivateMongoProxy()

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  if ('stop' in mongodb) await mongodb.stop()
})

runsSuite('embedded', async () => ({ database: `test_${randomHex(6)}`, directory: folder }))

if ('skip' in mongodb) test.skip(`runs on mongodb: ${mongodb.skip}`, () => {})
else {
  runsSuite('mongodb', async () => ({ database: `test_${randomHex(6)}`, mongodb_uri: mongodb.uri }))

  test('12 s without MongoDB make no run dead, and the processes go on in their runs', async () => {
    const location = { database: `test_${randomHex(6)}`, mongodb_uri: mongodb.uri }
    const all = [await openEffectsSystem(location), await openEffectsSystem(location)]
    const runs = all.map((system) => system.runs)
    const run_ids = runs.map(({ run_id }) => run_id)
    const untilAll = (isExpected: (run: (typeof runs)[number]) => boolean) =>
      eventually(
        async () => runs.every(isExpected),
        (value) => value === true,
      )
    await untilAll((run) => run.mayAct() && run.live().length === 2)
    const began_ms = performance.now()
    await mongodb.cut()
    await untilAll((run) => !run.mayAct())
    const outage_ms = IS_WHOLE ? 12_000 : 0
    await eventually(
      async () => performance.now() - began_ms,
      (elapsed_ms = 0) => elapsed_ms >= outage_ms,
    )
    await mongodb.restore()
    await untilAll((run) => run.mayAct())
    // A new death would show after that many of its own heartbeats at the earliest.
    const restored_ms = performance.now()
    await eventually(
      async () => performance.now() - restored_ms,
      (elapsed_ms = 0) => elapsed_ms >= 7_000,
    )
    expect(runs.map((run) => run.dead())).toEqual([[], []])
    expect(runs.map(({ run_id }) => run_id)).toEqual(run_ids)
    for (const [number, { runner }] of all.entries()) {
      const order = await runner.runEffects(await runner.insert(newOrderOfLanes(`order-${number}`)))
      expect(order.done).toEqual(expect.arrayContaining(['charge', 'confirm', 'notify']))
    }
    for (const system of all) await system.close()
  }, 600_000)
}
