import { expect, test } from '@jest/globals'
import { shardOf } from '../../services/balances/domain/shard.ts'
import { expectNothingLost } from '../e2e/crash.suite.ts'
import { eventually } from '../support/eventually.ts'
import type { Place, Release } from '../support/fleet/place.ts'
import { merchantClient } from '../support/merchant.ts'
import { startReceiver } from '../support/receiver.ts'
import { natsForTests } from '../support/servers.ts'
import { copyOf, type FleetSystem, restart, startFleetSystem, wavesOf } from './fleet-system.ts'
import { addUnknownEffects, commitInNextFormat, NEXT_RELEASE, triesOfUnknownEffects } from './next-release.ts'
import { checkOutOtherRelease } from './other-release.ts'
import { startSteadyLoad } from './steady-load.ts'

const LONG_MS = 1_200_000
const THIS_RELEASE: Release = {}

const nats = await natsForTests()
const other = await checkOutOtherRelease()
const skip = 'skip' in nats ? nats.skip : 'skip' in other ? other.skip : undefined

if ('skip' in nats || 'skip' in other) test.skip(`two releases on one store: ${skip}`, () => {})
// R9
else
  test(
    `this release and ${other.commit.slice(0, 8)} work on one store, after an update and after its reversal`,
    async () => {
      const isEven = (place: Place): boolean => copyOf(place) % 2 === 0
      const system = await startFleetSystem(nats.url, (place) => (isEven(place) ? other : THIS_RELEASE))
      const receiver = await startReceiver()
      try {
        const alpha = merchantClient(system.demo)
        const opening = await alpha.available()
        const load = startSteadyLoad(system.demo, receiver.url)
        await load.untilMoreRequests()
        for (const wave of wavesOf(system.places)) {
          await Promise.all(wave.map((place) => restart(place, isEven(place) ? THIS_RELEASE : other)))
          await load.untilMoreRequests()
        }
        await load.stop()
        expect(load.failures).toEqual([])
        await expectNothingLost(system, receiver, load, opening)

        const { merchant_id } = alpha.merchant
        const c_ids = [...load.payments.keys()]
        await addUnknownEffects(system, merchant_id, c_ids)
        await moveShard(system, merchant_id)
        // The two processes that do not read the new format show no balance of the merchant.
        const more = startSteadyLoad(system.demo, receiver.url, { without: ['readBalance'] })
        await more.untilMoreRequests()
        await more.stop()
        expect(more.failures).toEqual([])

        await Promise.all(placesOfBalances(system).map((place) => restart(place, NEXT_RELEASE)))
        await expectNothingLost(
          system,
          receiver,
          { payments: new Map([...load.payments, ...more.payments]) },
          opening,
        )
        const tries = await triesOfUnknownEffects(system, merchant_id, c_ids)
        expect(tries).toEqual(c_ids.flatMap(() => [0, 0, 0, 0]))
        expect(system.unexpected_ends).toEqual([])
      } finally {
        await receiver.stop()
        await system.end()
        await other.remove()
        await nats.stop()
      }
    },
    LONG_MS,
  )

function placesOfBalances({ places }: FleetSystem): readonly Place[] {
  return places.filter(({ role }) => role === 'balances')
}

/**
 * Updates the last balances process to a release that writes a newer format, writes a batch of it into the shard of the
 * merchant, and waits until the other two have given that shard away, because they cannot read it.
 */
async function moveShard(system: FleetSystem, merchant_id: string): Promise<void> {
  const balances = placesOfBalances(system)
  const [updated, ...others] = balances.toReversed()
  if (updated === undefined) throw new Error('balances has no process')
  await restart(updated, NEXT_RELEASE)
  await commitInNextFormat(system, merchant_id)
  const expected = `balances: shard ${shardOf(merchant_id, 'test')}: newer format`
  for (const place of others) {
    await eventually(
      async () => {
        await getBalances(system, place, merchant_id)
        return await (await fetch(`${place.urls()['health_url']}/readyz`)).text()
      },
      (text) => text?.startsWith('ready\n') === true && text.includes(expected),
    )
  }
  expect(await getBalances(system, updated, merchant_id)).toBe(200)
}

/** The HTTP status with which a process answers for the balances of a merchant. */
async function getBalances({ demo }: FleetSystem, place: Place, merchantId: string): Promise<number> {
  const url = `${place.urls()['connect_url']}/multihub.balances.v1.BalanceService/GetBalances`
  const { status, body } = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${demo().operator.token}` },
    body: JSON.stringify({ merchantId, environment: 'ENVIRONMENT_TEST' }),
  })
  await body?.cancel()
  return status
}
