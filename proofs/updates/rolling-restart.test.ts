import { expect, test } from '@jest/globals'
import { expectNothingLost } from '../../test/e2e/crash.suite.ts'
import { natsForTests } from '../../test/support/servers.ts'
import { restart, type UpdateTest, wavesOf, withFleetSystem } from './fleet-system.ts'

const LONG_MS = 600_000

const nats = await natsForTests()

if ('skip' in nats) test.skip(`a rolling restart: ${nats.skip}`, () => {})
// R5
else
  test(
    'a rolling restart under load fails no request and loses nothing',
    async () => {
      try {
        await withFleetSystem(nats.url, () => ({}), restartAllUnderLoad)
      } finally {
        await nats.stop()
      }
    },
    LONG_MS,
  )

async function restartAllUnderLoad({
  system,
  receiver,
  alpha,
  opening,
  startLoad,
}: UpdateTest): Promise<void> {
  const load = startLoad()
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
}
