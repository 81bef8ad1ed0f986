import { afterAll, afterEach, expect, jest, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { startPrivateNats } from '../../test/support/servers.ts'
import { openBus } from './open.ts'

/** The interval of the client's pings; the third unanswered one ends the connection. */
const PING_INTERVAL_MS = 5_000

const nats = await startPrivateNats()
afterEach(() => {
  jest.useRealTimers()
})

if ('skip' in nats) {
  process.stderr.write(`skipped: a frozen NATS server: ${nats.skip}\n`)
  test.skip(`a frozen NATS server: ${nats.skip}`, () => {})
} else {
  afterAll(() => nats.stop())

  test('a connection is closed when two pings had no response, although its socket is full', async () => {
    // The client's own timers do not use the clock of this project.
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'performance', 'Date', 'queueMicrotask'] })
    const nats_url = new Secret(nats.url)
    const start_wait = { limit_ms: HANG_LIMIT_MS }
    const bus = await openBus({ nats_url, name: 'test', prefix: 'test', start_wait })
    for (let round = 0; round < 5; round += 1) {
      await jest.advanceTimersByTimeAsync(PING_INTERVAL_MS)
      // The server confirms it after its response to the ping.
      const subscription = await bus.subscribe('round', () => {})
      await subscription.close()
    }
    expect(bus.isConnected()).toBe(true)

    nats.pause()
    const large = new Uint8Array(512 * 1024)
    const flood = async (): Promise<void> => {
      for (let n = 0; n < 100; n += 1) await bus.publish('flood', large)
    }
    await expect(flood()).rejects.toThrow(Unavailable)
    await jest.advanceTimersByTimeAsync(2 * PING_INTERVAL_MS)
    await turnsOfEventLoop()
    expect(bus.isConnected()).toBe(true)
    await jest.advanceTimersByTimeAsync(PING_INTERVAL_MS)
    while (bus.isConnected()) await turnsOfEventLoop()

    nats.resume()
    while (!bus.isConnected()) {
      await jest.advanceTimersByTimeAsync(100)
      await turnsOfEventLoop()
    }
    await bus.close()
  })
}

/** Lets the network and the promises do their work. */
async function turnsOfEventLoop(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
