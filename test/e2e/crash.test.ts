import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { mongodbForTests, startPrivateMongoProxy, startPrivateNats } from '../support/servers.ts'
import { startOneProcess, startProcessPerRole, type TestSystem } from '../support/system.ts'
import { beginStorm, expectNothingLost, type Storm } from './crash.suite.ts'

const LONG_MS = 900_000

let receiver: Receiver
let system: TestSystem | undefined
beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(async () => {
  await receiver.stop()
  await system?.end()
  system = undefined
})

/** Starts the payments, and calls `harm` after the first 15 responses. */
async function stormOn(
  running: TestSystem,
  harm: () => Promise<void>,
): Promise<{ storm: Storm; opening: number }> {
  const alpha = merchantClient(running.demo)
  const opening = await alpha.available()
  const storm = beginStorm(alpha, receiver)
  await eventually(
    async () => storm.answered(),
    (answered = 0) => answered >= 15,
  )
  await harm()
  await storm.over
  return { storm, opening }
}

describe('everything in one process', () => {
  test(
    'loses nothing when it is killed twice during 60 payments and started again',
    async () => {
      const running = await startOneProcess()
      system = running
      const { storm, opening } = await stormOn(running, () => running.kill())
      await running.start()
      await running.kill()
      await running.start()
      await expectNothingLost(running, receiver, storm, opening)
    },
    LONG_MS,
  )

  test(
    'on SIGTERM under load it ends with code 0, and the next start loses nothing',
    async () => {
      const running = await startOneProcess()
      system = running
      let code: number | null = null
      const { storm, opening } = await stormOn(running, async () => {
        code = await running.stop('all')
      })
      expect(code).toBe(0)
      await running.start()
      await expectNothingLost(running, receiver, storm, opening)
    },
    LONG_MS,
  )
})

const nats = await startPrivateNats()
const mongodb = await mongodbForTests()
afterAll(async () => {
  if ('stop' in nats) await nats.stop()
  if ('stop' in mongodb) await mongodb.stop()
})

if ('skip' in nats || 'skip' in mongodb) {
  const reason = 'skip' in nats ? nats.skip : 'skip' in mongodb ? mongodb.skip : ''
  test.skip(`crashes of roles and servers: ${reason}`, () => {})
} else {
  describe('one process per role, on NATS and MongoDB', () => {
    for (const role of ['payments', 'balances', 'notifier', 'merchants', 'sandbox', 'gateway']) {
      test(
        `loses nothing when ${role} is killed during 60 payments and started again`,
        async () => {
          const running = await startProcessPerRole(nats.url, mongodb.uri)
          system = running
          const { storm, opening } = await stormOn(running, async () => {
            await running.kill(role)
            await running.start(role)
          })
          await expectNothingLost(running, receiver, storm, opening, role !== 'sandbox')
        },
        LONG_MS,
      )
    }

    test(
      'loses nothing when NATS is killed during 60 payments and started again',
      async () => {
        const running = await startProcessPerRole(nats.url, mongodb.uri)
        system = running
        const { storm, opening } = await stormOn(running, async () => {
          await nats.kill()
          await nats.restart()
        })
        await expectNothingLost(running, receiver, storm, opening)
      },
      LONG_MS,
    )

    test(
      'loses nothing during an outage of the database under 60 payments',
      async () => {
        const proxy = await startPrivateMongoProxy()
        if ('skip' in proxy) throw new Error(proxy.skip)
        const running = await startProcessPerRole(nats.url, proxy.uri)
        system = running
        const { storm, opening } = await stormOn(running, async () => {
          await proxy.cut()
          await proxy.restore()
        })
        await expectNothingLost(running, receiver, storm, opening)
        await running.end()
        await proxy.stop()
      },
      LONG_MS,
    )
  })
}
