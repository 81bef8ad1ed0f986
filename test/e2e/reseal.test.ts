import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { sha512WithSecret } from '#lib/base/crypto/hash.ts'
import { deriveKey, parseMasterKeys } from '#lib/base/crypto/keys.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ROLES } from '#lib/role/role.ts'
import { loadOperations } from '../../operations/databases.ts'
import { reseal, SEALING_ROLES } from '../../operations/reseal.ts'
import { launch, runToEnd } from '../support/child.ts'
import { runHere, runHereToEnd } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import { callbackSecret, type ReceivedCallback, type Receiver, startReceiver } from '../support/receiver.ts'
import { type SystemHere, startHere } from '../support/system.ts'

const LONG_MS = 600_000
const OLD = `old:${randomHex(32)}`
const NEW = `new:${randomHex(32)}`

let system: SystemHere | undefined
let receiver: Receiver
let is_receiver_up = false
beforeEach(async () => {
  receiver = await startReceiver(() => ({ status: is_receiver_up ? 200 : 500 }))
})
afterEach(async () => {
  await system?.end()
  await receiver.stop()
})

/** Starts the system again, with these master keys. Returns the clients of a merchant and of the operator. */
async function start(keys: Keys) {
  await system?.stop()
  if (system === undefined) system = await startHere(keySettings(keys))
  else await system.start(keySettings(keys))
  return { alpha: merchantClient(system.demo), operator: operatorOf(system.demo()) }
}

/** Master keys, the active one of several, and derived keys. */
type Keys = readonly [keys: string, active_id?: string, derived_keys?: string]

interface DeadDelivery {
  readonly deliveryId: string
  readonly destinationKey: string
}

const keySettings = ([keys, active_id = '', derived_keys = '']: Keys) => ({
  MULTIHUB_MASTER_KEYS: keys,
  MULTIHUB_ACTIVE_KEY: active_id,
  MULTIHUB_KEYS: derived_keys,
})
/** The settings of a command beside the system. */
const variables = (keys: Keys) => ({ MULTIHUB_HOME: system?.home ?? '', ...keySettings(keys) })

/** What stays of the old key: it verifies what the ledger signed before (O9). */
function oldJournalKey(): string {
  const [master_key] = parseMasterKeys(OLD).values()
  if (master_key === undefined) throw new Error('there is no old key')
  return `journal.old:${deriveKey(master_key, 'journal').export().toString('hex')}`
}
const OLD_IS_ACTIVE: Keys = [`${OLD},${NEW}`, 'old']
const NEW_IS_ACTIVE: Keys = [`${OLD},${NEW}`, 'new']

test('reseal reaches every role that stores secrets, and payments before the notifier', async () => {
  const roles = await loadOperations(ROLES)
  const sealing = roles.filter(({ reseal }) => reseal !== undefined).map(({ name }) => name)
  expect([...SEALING_ROLES].sort()).toEqual(sealing.sort())
  expect(SEALING_ROLES.indexOf('payments')).toBeLessThan(SEALING_ROLES.indexOf('notifier'))
})

// A6
test(
  'after reseal, also after one that was killed, the system works with the new master key alone',
  async () => {
    const { alpha, operator } = await start([OLD])
    const { c_id } = await alpha.deposit(100_000, { webhook_url: receiver.url })
    await alpha.finalPayment(c_id)
    const deliveries = 'multihub.notifier.v1.DeliveryService'
    const listDead = async (): Promise<readonly DeadDelivery[]> => {
      const merchantId = alpha.merchant.merchant_id
      const status = 'DELIVERY_STATUS_DEAD'
      return (await operator(`${deliveries}/ListDeliveries`, { merchantId, status })).deliveries ?? []
    }
    const dead = await eventually(listDead, (found = []) => found.length === 2)

    const other_key = await runHere(reseal, ['--to', 'new'], variables(OLD_IS_ACTIVE))
    expect(other_key).toMatchObject({ code: 1, output: '' })
    expect(other_key.log).toContain('the active key is old, not new: set MULTIHUB_ACTIVE_KEY to new')
    const in_other_key = await runHere(reseal, [], variables(OLD_IS_ACTIVE))
    expect(in_other_key.code).toBe(1)
    expect(in_other_key.output.trim().split('\n')).toEqual([
      '0 documents were encrypted again under the master key old',
      expect.stringMatching(/^documents under old: [1-9]/),
      'documents under new: 0',
    ])
    expect(in_other_key.log).toContain('remove no key yet: everything is under old')
    const unnamed = await runHere(reseal, [], variables([`${NEW},${OLD}`]))
    expect(unnamed).toMatchObject({ code: 1, output: '' })
    expect(unnamed.log).toContain('MULTIHUB_ACTIVE_KEY is missing')

    const refused = await runHere(reseal, [], variables([NEW]))
    expect({ ...refused, log: '' }).toMatchObject({ code: 1 })
    expect(refused.output).toContain('PROBLEM  merchants: credentials 20001: the key old is not configured')

    await start(NEW_IS_ACTIVE)
    const killed = launch('main.ts', ['reseal'], variables(NEW_IS_ACTIVE))
    await eventually(
      async () => killed.log(),
      (log) => log?.includes('encrypted again') ?? false,
    )
    await killed.kill()
    await runToEnd('main.ts', ['reseal', '--to', 'new'], variables(NEW_IS_ACTIVE))
    expect(await runHereToEnd(reseal, ['--to', 'new'], variables(NEW_IS_ACTIVE))).toEqual([
      '0 documents were encrypted again under the master key new',
      expect.stringMatching(/^documents under new: [1-9]/),
      'documents under old: 0',
    ])

    // Only what the process with the new key delivers is counted.
    await system?.stop()
    const before = receiver.callbacks.length
    is_receiver_up = true
    const restarted = await start([NEW, 'new', oldJournalKey()])
    // The closing of the breaker queues what had tries left, and nothing else. A replay is refused for the delivery with which the
    // breaker has made its probe, because it is delivered already.
    for (const { deliveryId, destinationKey } of dead) {
      const replay = { deliveryId, queueAnyway: true }
      await restarted.operator(`${deliveries}/ReplayDelivery`, replay).catch(() => {})
      await restarted.operator(`${deliveries}/ProbeDestination`, { destinationKey })
    }
    const { c_id: second } = await restarted.alpha.deposit(200_000, { webhook_url: receiver.url })
    await receiver.waitFor(second, 'payment.completed')
    const received = await eventually(
      async () => receiver.of(c_id).filter((callback) => receiver.callbacks.indexOf(callback) >= before),
      (found = []) => found.length >= 2,
    )
    const secret = new Secret(callbackSecret(restarted.alpha.credential.secret))
    const isSigned = ({ raw, headers }: ReceivedCallback): boolean =>
      headers['x-data-hash'] === sha512WithSecret(raw, secret)
    expect(received.every(isSigned)).toBe(true)
  },
  LONG_MS,
)
