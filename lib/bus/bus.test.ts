import { afterAll, describe, expect, test } from '@jest/globals'
import { ConfigError } from '#lib/base/config/config.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { busSuite } from '../../test/suites/bus.suite.ts'
import { natsForTests, startPrivateNats } from '../../test/support/servers.ts'
import { createMemoryBus } from './memory.ts'
import { openBus } from './open.ts'

busSuite('memory', async () => {
  const bus = createMemoryBus()
  return { near: bus, far: bus }
})

const nats = await startPrivateNats()

// A server in a container cannot be killed by the tests, but it has to pass the suite.
const server = 'skip' in nats ? await natsForTests() : nats
const prefix = `test-${randomHex(4)}`
const open = (name: string) => {
  if ('skip' in server) throw new Error(server.skip)
  return openBus({ nats_url: new Secret(server.url), name, prefix })
}

if ('skip' in server) test.skip(`the bus over NATS: ${server.skip}`, () => {})
else {
  afterAll(() => server.stop())
  busSuite('NATS', async () => ({ near: await open('near'), far: await open('far') }))
}

if ('skip' in nats) test.skip(`the bus over a NATS that fails: ${nats.skip}`, () => {})
else {
  describe('when the NATS server fails', () => {
    test('the bus reports the lost connection, reconnects, and restores its subscriptions', async () => {
      const [near, far] = [await open('near'), await open('far')]
      const received = new Set<string>()
      const queued = new Set<string>()
      await far.subscribe('steady.*', ({ data }) => void received.add(`${data}`))
      await far.subscribe('steady.>', ({ data }) => void queued.add(`${data}`), { queue_group: 'q' })
      const thrown: unknown[] = []
      let sent = 0
      const publish = async (): Promise<boolean> => {
        const text = `${sent}`
        sent += 1
        try {
          await near.publish('steady.x', new TextEncoder().encode(text))
          return true
        } catch (error) {
          thrown.push(error)
          return false
        }
      }
      const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
        while (!(await condition())) await sleep(5)
      }
      await until(async () => (await publish()) && received.size > 20)
      await nats.kill()
      await until(async () => !(await publish()))
      await until(() => !near.isConnected() && !far.isConnected())
      const was_published = await publish()
      expect(was_published).toBe(false)
      await nats.restart()
      await until(() => near.isConnected() && far.isConnected())
      const before = received.size
      await until(async () => (await publish()) && received.size > before + 20 && queued.size > before)
      expect(thrown.every((error) => error instanceof Unavailable)).toBe(true)
      await Promise.all([near.close(), far.close()])
    })

    test('a frozen server costs limited memory, and the bus works again afterwards', async () => {
      const bus = await open('near')
      const large = new Uint8Array(512 * 1024)
      let arrived = (): void => {}
      nats.pause()
      const flood = async (): Promise<void> => {
        for (let n = 0; n < 100; n += 1) await bus.publish('flood', large)
      }
      await expect(flood()).rejects.toThrow(Unavailable)
      nats.resume()
      await bus.subscribe('after', () => arrived())
      await new Promise<void>((resolve) => {
        arrived = resolve
        const publishUntilSent = async (): Promise<void> => {
          await bus.publish('after', new Uint8Array()).catch(() => sleep(5).then(publishUntilSent))
        }
        void publishUntilSent()
      })
      await bus.close()
    })

    test('a bus can be closed while the server is down', async () => {
      const bus = await open('near')
      const subscription = await bus.subscribe('a', () => {})
      await nats.kill()
      while (bus.isConnected()) await sleep(5)
      await bus.subscribe('b', () => {})
      await subscription.close()
      await bus.close()
      await nats.restart()
    })

    test('a bus can be closed while the server dies', async () => {
      const bus = await open('near')
      nats.pause()
      const closed = bus.close()
      await nats.kill()
      await closed
      await nats.restart()
    })
  })
}

test('opening without a server fails with one sentence that names NATS_URL and hides the password', async () => {
  const opened = openBus({ nats_url: new Secret('nats://user:hush@127.0.0.1:1'), name: 'x', prefix: 'test' })
  await expect(opened).rejects.toThrow(Unavailable)
  await expect(opened).rejects.toThrow(
    'NATS does not answer at 127.0.0.1:1 (connection refused): start it, or correct NATS_URL',
  )
})

test.each(['', 'http://x', '://', 'nats://', 'nats://a b'])('refuses %j as NATS_URL', async (url) => {
  const opened = Promise.resolve().then(() =>
    openBus({ nats_url: new Secret(url), name: 'x', prefix: 'test' }),
  )
  await expect(opened).rejects.toThrow(ConfigError)
})
