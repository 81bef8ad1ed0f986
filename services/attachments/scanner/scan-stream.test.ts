import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { CLEAN, type ScriptedClamd, startScriptedClamd } from '../../../test/support/scripted-clamd.ts'
import { scanStream } from './clamd.ts'

let clamd: ScriptedClamd
beforeEach(async () => {
  clamd = await startScriptedClamd()
})
afterEach(() => clamd.close())

const LONG_MS = 60_000
const OK = { text: 'stream: OK', is_early: false }

async function* parts(...chunks: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}
async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) yield Buffer.alloc(65_536)
}
const scan = (bytes: AsyncIterable<Uint8Array> = parts(Buffer.from('some bytes')), timeout_ms = LONG_MS) =>
  scanStream({ host: '127.0.0.1', port: clamd.port }, bytes, timeout_ms)

// F5
describe('a scan', () => {
  test('sends all bytes, empty chunks left out, and returns the response', async () => {
    const large = Buffer.alloc(3_000_000, 'large ')
    expect(await scan(parts(Buffer.from('a'), Buffer.alloc(0), large))).toEqual(OK)
    expect(clamd.received[0]?.equals(Buffer.concat([Buffer.from('a'), large]))).toBe(true)
  })

  test('returns a response that comes in pieces', async () => {
    clamd.behave((socket) => {
      socket.write('stream: E')
      setImmediate(() => socket.write('icar FOUND\0'))
    })
    expect(await scan()).toEqual({ text: 'stream: Eicar FOUND', is_early: false })
  })

  test('returns a response that comes before the bytes were read, when clamd then closes', async () => {
    clamd.behave((socket) => void socket.end('INSTREAM size limit exceeded. ERROR\0'), 'early')
    expect(await scan(endless())).toEqual({
      text: 'INSTREAM size limit exceeded. ERROR',
      is_early: true,
    })
  })

  test('says that a response came before all bytes were sent, also when clamd keeps reading', async () => {
    clamd.behave((socket) => void socket.resume().write(CLEAN), 'early')
    expect(await scan(endless())).toEqual({ text: 'stream: OK', is_early: true })
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a')
      await answered
      throw new RangeError('the disk broke')
    }
    const { promise: answered, resolve } = Promise.withResolvers<void>()
    const response = scan(broken())
    expect(await response).toEqual({ text: 'stream: OK', is_early: true })
    resolve()
  })

  test.each([
    ['closes without a response', (socket: { destroy(): void }) => socket.destroy()],
    ['resets the connection', (socket: { resetAndDestroy(): void }) => socket.resetAndDestroy()],
    [
      'ends a response without its end mark',
      (socket: { end(text: string): void }) => socket.end('stream: OK'),
    ],
    ['answers without end', (socket: { write(text: string): void }) => socket.write('x'.repeat(10_000))],
  ] as const)('is unavailable when clamd %s', async (_what, act) => {
    clamd.behave(act as never)
    await expect(scan()).rejects.toMatchObject({ name: 'Unavailable' })
    clamd.behave((socket) => void socket.end(CLEAN))
    expect(await scan()).toEqual(OK)
  })

  test('is unavailable when clamd hangs, and when it is not there', async () => {
    clamd.behave(() => {})
    await expect(scan(undefined, 50)).rejects.toMatchObject({ name: 'Unavailable' })
    await expect(scanStream({ path: '/nowhere/clamd.sock' }, parts(), LONG_MS)).rejects.toMatchObject({
      name: 'Unavailable',
    })
  })

  test('ends when the bytes cannot be read', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a')
      throw new RangeError('the disk broke')
    }
    await expect(scan(broken())).rejects.toMatchObject({
      name: 'Unavailable',
      cause: { message: 'the disk broke' },
    })
  })
})
