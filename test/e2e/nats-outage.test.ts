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

/** The deposits that are created while NATS is down: more events than may go by RPC at once. */
const DEPOSITS = 40
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

  // O10
  test('callbacks arrive while NATS is down, and after its return', async () => {
    const receiver = await startReceiver()
    try {
      const merchant = merchantClient(system.demo)
      const depositAll = async (count: number): Promise<void> => {
        for (let number = 0; number < count; number += 1)
          await merchant.deposit(DECLINED_VALUE, { webhook_url: receiver.url })
      }
      const received = (events: number) =>
        eventually(
          async () => receiver.callbacks.length,
          (count) => count === events,
        )
      await depositAll(1)
      await received(2)
      await nats.kill()
      await depositAll(DEPOSITS)
      await received(2 + 2 * DEPOSITS)
      await nats.restart()
      await depositAll(1)
      await received(4 + 2 * DEPOSITS)
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
