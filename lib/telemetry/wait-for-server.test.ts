import { expect, test } from '@jest/globals'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { installManualClock } from '../../test/support/manual-clock.ts'
import { waitForServer } from './wait-for-server.ts'

const server = { name: 'MongoDB', isMissing: (error: unknown) => error instanceof Unavailable }

test('tries again until the server answers', async () => {
  let tries = 0
  const connect = async (): Promise<string> => {
    tries += 1
    if (tries < 4) throw new Unavailable('nobody listens')
    return 'connected'
  }
  expect(await waitForServer(server, { limit_ms: 60_000 }, connect)).toBe('connected')
  expect(tries).toBe(4)
})

test('throws the last error when the time is over', async () => {
  using manual = installManualClock()
  let tries = 0
  const connect = () => {
    tries += 1
    return Promise.reject(new Unavailable(`try ${tries}`))
  }
  const failed = waitForServer(server, { limit_ms: 300 }, connect).catch((error: unknown) => error)
  await manual.advance(300)
  expect(await failed).toMatchObject({ message: `try ${tries}` })
  expect(tries).toBeGreaterThan(1)
})

test('does not wait without a limit, nor for a server that answered with an error', async () => {
  let tries = 0
  const connect = () => {
    tries += 1
    return Promise.reject(new Unavailable(`try ${tries}`))
  }
  await expect(waitForServer(server, { limit_ms: 0 }, connect)).rejects.toThrow('try 1')
  const refused = () => Promise.reject(new TypeError('wrong password'))
  await expect(waitForServer(server, { limit_ms: 60_000 }, refused)).rejects.toThrow('wrong password')
})

test('ends at once when the process is asked to stop', async () => {
  const stopping = new AbortController()
  const connect = () => {
    clock.after(10, () => stopping.abort())
    return Promise.reject(new Unavailable('nobody listens'))
  }
  const waiting = waitForServer(server, { limit_ms: 60_000, signal: stopping.signal }, connect)
  await expect(waiting).rejects.toThrow('stopped while waiting for MongoDB')
})
