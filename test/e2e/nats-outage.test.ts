import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { sleep } from '#lib/base/time.ts'
import { ROLES } from '#lib/role/role.ts'
import { eventually } from '../support/eventually.ts'
import { grpcHealth, SERVING } from '../support/grpc-health.ts'
import { merchantClient } from '../support/merchant.ts'
import { startReceiver } from '../support/receiver.ts'
import { startPrivateNats } from '../support/servers.ts'
import { startProcessPerRole, type TestSystem } from '../support/system.ts'

/** Readiness is checked each second; this is long enough for several checks. */
const OUTAGE_MS = 4_000

const nats = await startPrivateNats()

/** How long events wait for NATS, and the deposits that are created meanwhile. */
const WAIT_MS = 6_000
const DEPOSITS = 60
/** A deposit of this amount is declined at once, so it has two events. */
const DECLINED_VALUE = 1_901

if ('skip' in nats) test.skip(`an outage of NATS: ${nats.skip}`, () => {})
else {
  let system: TestSystem
  beforeAll(async () => {
    system = await startProcessPerRole(nats.url, undefined)
  })
  afterAll(async () => {
    await system?.end()
    await nats.stop()
  })

  test('what waited for NATS is delivered after its return, without a further event', async () => {
    const receiver = await startReceiver()
    try {
      const merchant = merchantClient(system.demo)
      const deposit = () => merchant.deposit(DECLINED_VALUE, { webhook_url: receiver.url })
      await deposit()
      await eventually(
        async () => receiver.callbacks.length,
        (count) => count === 2,
      )
      await nats.kill()
      const began_ms = performance.now()
      for (let number = 0; number < DEPOSITS; number += 1) {
        await deposit()
        const due_ms = began_ms + ((number + 1) * WAIT_MS) / DEPOSITS
        await sleep(Math.max(0, due_ms - performance.now()))
      }
      expect(receiver.callbacks).toHaveLength(2)
      await nats.restart()
      await eventually(
        async () => receiver.callbacks.length,
        (count = 0) => count >= 2 * (DEPOSITS + 1),
      )
    } finally {
      await receiver.stop()
    }
  })

  test('the processes of all roles stay ready while NATS is down, and gRPC health says so too', async () => {
    const urlOf = (role: string, kind: 'health' | 'grpc'): string =>
      (system.demo() as unknown as Readonly<Record<string, string>>)[`${role}_${kind}_url`] ?? ''
    const isConnected = async (role: string): Promise<boolean> =>
      /^multihub_bus_connected 1$/m.test(await (await fetch(`${urlOf(role, 'health')}/metrics`)).text())
    const connected = (): Promise<readonly boolean[]> => Promise.all(ROLES.map(isConnected))
    await eventually(connected, (each) => each?.every((one) => one) === true)
    await nats.kill()
    await eventually(connected, (each) => each?.includes(true) === false)
    const end_ms = performance.now() + OUTAGE_MS
    while (performance.now() < end_ms) {
      for (const role of ROLES) {
        const ready = await fetch(`${urlOf(role, 'health')}/readyz`)
        const health = await grpcHealth(urlOf(role, 'grpc'))
        const text = await ready.text()
        expect([role, ready.status, text, health]).toEqual([
          ...[role, 200, expect.stringMatching(/^ready\n/), SERVING],
        ])
      }
      await sleep(200)
    }
  })
}
