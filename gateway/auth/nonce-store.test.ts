import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '#lib/store/errors.ts'
import {
  interceptCalls,
  type LimitsFixture,
  loseWriteResults,
  openLimitsFixture,
} from '../limits/limits.fixture.ts'
import { createNonceStore } from './nonce-store.ts'
import { nonceTtlMs } from './replay.ts'
import { V1_WINDOW_MS } from './signature-schemes.ts'

const TTL_MS = nonceTtlMs(V1_WINDOW_MS)

let fixture: LimitsFixture
beforeEach(async () => {
  fixture = await openLimitsFixture()
})
afterEach(async () => fixture[Symbol.asyncDispose]())

test('an application consumes a nonce once; another application may use the same nonce', async () => {
  const nonces = createNonceStore(fixture.nonces, { ttl_ms: TTL_MS })
  expect(await nonces.consume('1001', 'n')).toBe('consumed')
  expect(await nonces.consume('1001', 'n')).toBe('reused')
  expect(await nonces.consume('1001', 'N')).toBe('consumed')
  expect(await nonces.consume('1002', 'n')).toBe('consumed')
})

test('accepts the longest application id and nonce', async () => {
  const nonces = createNonceStore(fixture.nonces, { ttl_ms: TTL_MS })
  expect(await nonces.consume('9'.repeat(16), '~'.repeat(128))).toBe('consumed')
  expect(await nonces.consume('9'.repeat(16), '~'.repeat(128))).toBe('reused')
})

// A3
test('remembers a nonce for its time to live and then forgets it', async () => {
  const nonces = createNonceStore(fixture.nonces, { ttl_ms: TTL_MS })
  await nonces.consume('1001', 'n')
  fixture.clock.stepWall(TTL_MS - 1)
  expect(await nonces.consume('1001', 'n')).toBe('reused')
  fixture.clock.stepWall(1)
  expect(await nonces.consume('1001', 'n')).toBe('consumed')
})

// A3
test('a nonce stays used until no gateway accepts its timestamp, whose clock may be a minute behind', async () => {
  const nonces = createNonceStore(fixture.nonces, { ttl_ms: TTL_MS })
  // First seen when the timestamp is as far in the future as is accepted.
  await nonces.consume('1001', 'n')
  const last_second_ms = 999
  fixture.clock.stepWall(2 * V1_WINDOW_MS + last_second_ms + 60_000)
  expect(await nonces.consume('1001', 'n')).toBe('reused')
})

test('the result is unknown when the store is closed', async () => {
  const nonces = createNonceStore(fixture.nonces, { ttl_ms: TTL_MS })
  await nonces.consume('1001', 'n')
  await fixture.store.close()
  expect(await nonces.consume('1001', 'n')).toBe('unknown')
  expect(await nonces.consume('1001', 'other')).toBe('unknown')
})

describe('when the response of the store was lost', () => {
  /** Stores the nonce of the first call, but loses the response to the insert. */
  const withLostResponse = (nonces = fixture.nonces) =>
    createNonceStore(interceptCalls(nonces, loseWriteResults(1, 1)), { ttl_ms: TTL_MS })

  /** Stores no nonce, and cannot tell whether it did. */
  const withLostInsert = () => {
    const insert = () => Promise.reject(new Ambiguous('the response was lost'))
    return createNonceStore({ ...fixture.nonces, insert }, { ttl_ms: TTL_MS })
  }

  test('the nonce is consumed if this request stored it', async () => {
    const nonces = withLostResponse()
    expect(await nonces.consume('1001', 'n')).toBe('consumed')
    expect(await nonces.consume('1001', 'n')).toBe('reused')
  })

  test('the nonce is reused if another request stored it', async () => {
    await createNonceStore(fixture.nonces, { ttl_ms: TTL_MS }).consume('1001', 'n')
    expect(await withLostInsert().consume('1001', 'n')).toBe('reused')
  })

  test('the result is unknown if the nonce is absent, because the write may still arrive', async () => {
    expect(await withLostInsert().consume('1001', 'n')).toBe('unknown')
  })

  test('the result is unknown if the nonce cannot be read within a second', async () => {
    const is_read = Promise.withResolvers<void>()
    const get = (): Promise<never> => {
      is_read.resolve()
      return new Promise(() => {})
    }
    const result = withLostResponse({ ...fixture.nonces, get }).consume('1001', 'n')
    await is_read.promise
    await fixture.clock.advance(1_000)
    expect(await result).toBe('unknown')
  })

  test('the result is unknown if the nonce cannot be read', async () => {
    const unavailable = {
      ...fixture.nonces,
      get: () => Promise.reject(new Unavailable('the store is down')),
    }
    expect(await withLostResponse(unavailable).consume('1001', 'n')).toBe('unknown')
    expect(await withLostResponse().consume('1001', 'n')).toBe('reused')
  })
})

test('rethrows an unexpected fault', async () => {
  const nonces = createNonceStore(fixture.nonces, { ttl_ms: TTL_MS })
  await expect(nonces.consume('1001', '\ud800')).rejects.toThrow(TypeError)
})
