import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { sleep } from '#lib/platform/time.ts'
import { startProcess } from '../support/child.ts'
import { eventually } from '../support/eventually.ts'
import { ANY_PORTS } from '../support/free-port.ts'
import { grpcHealth, SERVING } from '../support/grpc-health.ts'
import { startPrivateNats } from '../support/servers.ts'

/** Readiness is checked each second; this is long enough for several checks. */
const OUTAGE_MS = 4_000

const nats = await startPrivateNats()
const home = await mkdtemp(join(tmpdir(), 'multihub-nats-outage-'))
afterAll(() => rm(home, { recursive: true, force: true }))

if ('skip' in nats) test.skip(`an outage of NATS: ${nats.skip}`, () => {})
else {
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
        expect([ready.status, await ready.text()]).toEqual([200, 'ready\n'])
        expect(await grpcHealth(grpc_url)).toBe(SERVING)
        await sleep(200)
      }
    } finally {
      await stop()
      await nats.stop()
    }
  })
}
