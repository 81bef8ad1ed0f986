import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { sleep } from '#lib/platform/time.ts'
import { startProcess } from '../support/child.ts'
import { eventually } from '../support/eventually.ts'
import { ANY_PORTS } from '../support/free-port.ts'
import { grpcHealth, SERVING } from '../support/grpc-health.ts'
import { merchantClient } from '../support/merchant.ts'
import { startReceiver } from '../support/receiver.ts'
import { startPrivateNats } from '../support/servers.ts'
import { startProcessPerRole } from '../support/system.ts'

/** Readiness is checked each second; this is long enough for several checks. */
const OUTAGE_MS = 4_000

const nats = await startPrivateNats()
const home = await mkdtemp(join(tmpdir(), 'multihub-nats-outage-'))
afterAll(() => rm(home, { recursive: true, force: true }))

/** How long events wait for NATS, and the deposits that are created meanwhile. */
const WAIT_MS = 6_000
const DEPOSITS = 60
/** A deposit of this amount is declined at once, so it has two events. */
const DECLINED_VALUE = 1_901

if ('skip' in nats) test.skip(`an outage of NATS: ${nats.skip}`, () => {})
else {
  test('what waited for NATS is delivered after its return, without a further event', async () => {
    const system = await startProcessPerRole(nats.url, undefined)
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
      await system.end()
    }
  })

  test('a process stays ready while NATS is down, and gRPC health says so too', async () => {
    const { urls, stop } = await startProcess('main.ts', ['all'], {
      MULTIHUB_HOME: home,
      ...ANY_PORTS,
      MULTIHUB_MASTER_KEYS: `test:${'a'.repeat(64)}`,
      MULTIHUB_SANDBOX_KEY: 'b'.repeat(64),
      MULTIHUB_LOG_LEVEL: 'error',
      NATS_URL: nats.url,
    })
    const { health_url, grpc_url = '' } = urls
    const isConnected = async (): Promise<boolean> =>
      /^multihub_bus_connected 1$/m.test(await (await fetch(`${health_url}/metrics`)).text())
    try {
      expect(await isConnected()).toBe(true)
      await nats.kill()
      await eventually(isConnected, (connected) => connected === false)
      const end_ms = performance.now() + OUTAGE_MS
      while (performance.now() < end_ms) {
        const ready = await fetch(`${health_url}/readyz`)
        expect([ready.status, await ready.text()]).toEqual([200, expect.stringMatching(/^ready\n/)])
        expect(await grpcHealth(grpc_url)).toBe(SERVING)
        await sleep(200)
      }
    } finally {
      await stop()
      await nats.stop()
    }
  })
}
