import { expect, test } from '@jest/globals'
import { expectNothingLost } from '../e2e/crash.suite.ts'
import { merchantClient } from '../support/merchant.ts'
import { startReceiver } from '../support/receiver.ts'
import { natsForTests } from '../support/servers.ts'
import { restart, startFleetSystem, wavesOf } from './fleet-system.ts'
import { startSteadyLoad } from './steady-load.ts'

const LONG_MS = 600_000

const nats = await natsForTests()

if ('skip' in nats) test.skip(`a rolling restart: ${nats.skip}`, () => {})
// R5
else
  test(
    'a rolling restart under load fails no request and loses nothing',
    async () => {
      const system = await startFleetSystem(nats.url)
      const receiver = await startReceiver()
      try {
        const alpha = merchantClient(system.demo)
        const opening = await alpha.available()
        const load = startSteadyLoad(system.demo, receiver.url)
        await load.untilMoreRequests()
        for (const wave of wavesOf(system.places)) {
          await Promise.all(wave.map((place) => restart(place)))
          await load.untilMoreRequests()
        }
        await load.stop()

        expect(load.failures).toEqual([])
        expect(system.unexpected_ends).toEqual([])
        await expectNothingLost(system, receiver, load, opening)
        for (const c_id of load.refunds) {
          const { body } = await alpha.call({ method: 'refund.get', params: { identifiers: { c_id } } })
          expect(body.result).toMatchObject({ status: 'pending', payment: { c_id } })
        }
        const text = JSON.stringify(load.counts())
        process.stderr.write(`rolling restart of ${system.places.length} processes: ${text}, 0 failed\n`)
      } finally {
        await receiver.stop()
        await system.end()
        await nats.stop()
      }
    },
    LONG_MS,
  )
