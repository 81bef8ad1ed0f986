import { expect, test } from '@jest/globals'
import { shardOf } from '../../services/balances/domain/shard.ts'
import { expectNothingLost } from '../../test/e2e/crash.suite.ts'
import { eventually } from '../../test/support/eventually.ts'
import type { Place, Release } from '../../test/support/fleet/place.ts'
import { natsForTests } from '../../test/support/servers.ts'
import {
  copyOf,
  type FleetSystem,
  restart,
  type UpdateTest,
  wavesOf,
  withFleetSystem,
} from './fleet-system.ts'
import { addUnknownEffects, commitInNextFormat, NEXT_RELEASE, triesOfUnknownEffects } from './next-release.ts'
import { checkOutOtherRelease } from './other-release.ts'

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
      try {
        const releaseOf = (place: Place): Release => (isEven(place) ? other : THIS_RELEASE)
        await withFleetSystem(nats.url, releaseOf, (deps) => exchangeReleases(deps, other))
      } finally {
        await other.remove()
        await nats.stop()
      }
    },
    LONG_MS,
  )

function isEven(place: Place): boolean {
  return copyOf(place) % 2 === 0
}

/**
 * Updates one half of the processes while the other half goes back to the other release, then adds what only a later release
 * knows.
 */
async function exchangeReleases(
  { system, receiver, alpha, opening, startLoad }: UpdateTest,
  other: Release,
): Promise<void> {
  const load = startLoad()
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
  const more = startLoad({ without: ['readBalance'] })
  await more.untilMoreRequests()
  await more.stop()
  expect(more.failures).toEqual([])

  await Promise.all(placesOfBalances(system).map((place) => restart(place, NEXT_RELEASE)))
  const payments = new Map([...load.payments, ...more.payments])
  await expectNothingLost(system, receiver, { payments }, opening)
  const tries = await triesOfUnknownEffects(system, merchant_id, c_ids)
  expect(tries).toEqual(c_ids.flatMap(() => [0, 0, 0, 0]))
  expect(system.unexpected_ends).toEqual([])
  const text = JSON.stringify({ before: load.counts(), after: more.counts() })
  process.stderr.write(`two releases, ${system.places.length} processes: ${text}, 0 failed\n`)
}

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
async function getBalances({ fleet }: FleetSystem, place: Place, merchantId: string): Promise<number> {
  const url = `${place.urls()['connect_url']}/multihub.balances.v1.BalanceService/GetBalances`
  const { status, body } = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${fleet.settings.tokenOf('gateway')}`,
    },
    body: JSON.stringify({ merchantId, environment: 'ENVIRONMENT_TEST' }),
  })
  await body?.cancel()
  return status
}
