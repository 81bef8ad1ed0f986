import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { merchantClient } from '../support/merchant.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { startPrivateMongoProxy, startPrivateNats } from '../support/servers.ts'
import { startOneProcess, startProcessPerRole, type TestSystem } from '../support/system.ts'
import { beginStorm, expectNothingLost, type Storm } from './crash.suite.ts'

const LONG_MS = 900_000
/** No lease of an effect is longer. */
const LEASES_MS = 60_000

let receiver: Receiver
beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(async () => {
  await receiver.stop()
})

/** Starts the payments, and calls `harm` after the first 15 responses. */
async function stormOn(
  running: TestSystem,
  harm: () => Promise<void>,
): Promise<{ storm: Storm; opening: number }> {
  const alpha = merchantClient(running.demo)
  const opening = await alpha.available()
  const storm = beginStorm(alpha, receiver)
  await storm.begun
  await harm()
  await storm.over
  return { storm, opening }
}

/** Starts a system for all tests of a group. What a failed test left down runs again before the next one. */
function useSystem<S extends TestSystem>(start: () => Promise<S>): () => S {
  let system: S | undefined
  beforeAll(async () => {
    system = await start()
  })
  beforeEach(() => system?.start())
  afterAll(() => system?.end())
  return () => {
    if (!system) throw new Error('the system has not started')
    return system
  }
}

describe('everything in one process', () => {
  const system = useSystem(() => startOneProcess())

  // One test for both, because their payments end at the same time.
  test(
    'loses nothing when it is killed twice during 60 payments, and ends with code 0 on SIGTERM during 60 others',
    async () => {
      const { storm: killed, opening } = await stormOn(system(), () => system().kill())
      await system().start()
      await system().kill()
      await system().start()
      let code: number | null = null
      const { storm: stopped } = await stormOn(system(), async () => {
        code = await system().stop('all')
      })
      expect(code).toBe(0)
      await system().beDownFor(LEASES_MS)
      await system().start()
      const payments = new Map([...killed.payments, ...stopped.payments])
      await expectNothingLost(system(), receiver, { payments }, opening)
    },
    LONG_MS,
  )
})

const nats = await startPrivateNats()
const mongodb = await startPrivateMongoProxy()
afterAll(async () => {
  if ('stop' in nats) await nats.stop()
  if ('stop' in mongodb) await mongodb.stop()
})

if ('skip' in nats || 'skip' in mongodb) {
  const reason = 'skip' in nats ? nats.skip : 'skip' in mongodb ? mongodb.skip : ''
  test.skip(`crashes of roles and servers: ${reason}`, () => {})
} else {
  describe('one process per role, on NATS and MongoDB', () => {
    const system = useSystem(() => startProcessPerRole(nats.url, mongodb.uri))

    for (const role of ['payments', 'balances', 'notifier', 'merchants', 'sandbox', 'gateway']) {
      test(
        `loses nothing when ${role} is killed during 60 payments and started again`,
        async () => {
          const { storm, opening } = await stormOn(system(), async () => {
            await system().kill(role)
            await system().start(role)
          })
          await expectNothingLost(system(), receiver, storm, opening, role !== 'sandbox')
        },
        LONG_MS,
      )
    }

    test(
      'loses nothing when NATS is killed during 60 payments and started again',
      async () => {
        const { storm, opening } = await stormOn(system(), async () => {
          await nats.kill()
          await nats.restart()
        })
        await expectNothingLost(system(), receiver, storm, opening)
      },
      LONG_MS,
    )

    test(
      'loses nothing during an outage of the database under 60 payments',
      async () => {
        const { storm, opening } = await stormOn(system(), async () => {
          await mongodb.cut()
          await mongodb.restore()
        })
        await expectNothingLost(system(), receiver, storm, opening)
      },
      LONG_MS,
    )
  })
}
