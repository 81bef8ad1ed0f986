import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '#lib/platform/store/errors.ts'
import { useClock } from '#lib/platform/time.ts'
import { eventually } from '../../test/support/eventually.ts'
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import {
  type GatewayStoreFixture,
  interceptCalls,
  loseWriteResults,
  openGatewayStoreFixture,
} from '../limits/limits.fixture.ts'
import { createNonceStore } from './nonce-store.ts'
import { nonceTtlMs } from './replay.ts'
import { V1_WINDOW_MS } from './v1-scheme.ts'

const TTL_MS = nonceTtlMs(V1_WINDOW_MS)

let gateway_store: GatewayStoreFixture
let clock: ManualClock
let restore: () => void
beforeEach(async () => {
  gateway_store = await openGatewayStoreFixture()
  clock = createManualClock()
  restore = useClock(clock)
})
afterEach(async () => {
  restore()
  await gateway_store[Symbol.asyncDispose]()
})

test('an application consumes a nonce once; another application may use the same nonce', async () => {
  const nonces = createNonceStore(gateway_store.nonces, { ttl_ms: TTL_MS })
  expect(await nonces.consume('1001', 'n')).toBe('consumed')
  expect(await nonces.consume('1001', 'n')).toBe('reused')
  expect(await nonces.consume('1001', 'N')).toBe('consumed')
  expect(await nonces.consume('1002', 'n')).toBe('consumed')
})

test('accepts the longest application id and nonce', async () => {
  const nonces = createNonceStore(gateway_store.nonces, { ttl_ms: TTL_MS })
  expect(await nonces.consume('9'.repeat(16), '~'.repeat(128))).toBe('consumed')
  expect(await nonces.consume('9'.repeat(16), '~'.repeat(128))).toBe('reused')
})

// A3
test('remembers a nonce for its time to live and then forgets it', async () => {
  const nonces = createNonceStore(gateway_store.nonces, { ttl_ms: TTL_MS })
  await nonces.consume('1001', 'n')
  clock.stepWall(TTL_MS - 1)
  expect(await nonces.consume('1001', 'n')).toBe('reused')
  clock.stepWall(1)
  expect(await nonces.consume('1001', 'n')).toBe('consumed')
})

// A3
test('a nonce stays used until no gateway accepts its timestamp, whose clock may be a minute behind', async () => {
  const nonces = createNonceStore(gateway_store.nonces, { ttl_ms: TTL_MS })
  // First seen when the timestamp is as far in the future as is accepted.
  await nonces.consume('1001', 'n')
  const last_second_ms = 999
  clock.stepWall(2 * V1_WINDOW_MS + last_second_ms + 60_000)
  expect(await nonces.consume('1001', 'n')).toBe('reused')
})

test('the result is unknown when the store is closed', async () => {
  const nonces = createNonceStore(gateway_store.nonces, { ttl_ms: TTL_MS })
  await nonces.consume('1001', 'n')
  await gateway_store.store.close()
  expect(await nonces.consume('1001', 'n')).toBe('unknown')
  expect(await nonces.consume('1001', 'other')).toBe('unknown')
})

describe('when the response of the store was lost', () => {
  /** Stores the nonce of the first call, but loses the response to the insert. */
  const withLostResponse = (nonces = gateway_store.nonces) =>
    createNonceStore(interceptCalls(nonces, loseWriteResults(1, 1)), { ttl_ms: TTL_MS })

  /** Stores no nonce, and cannot tell whether it did. */
  const withLostInsert = () => {
    const insert = () => Promise.reject(new Ambiguous('the response was lost'))
    return createNonceStore({ ...gateway_store.nonces, insert }, { ttl_ms: TTL_MS })
  }

  test('the nonce is consumed if this request stored it', async () => {
    const nonces = withLostResponse()
    expect(await nonces.consume('1001', 'n')).toBe('consumed')
    expect(await nonces.consume('1001', 'n')).toBe('reused')
  })

  test('the nonce is reused if another request stored it', async () => {
    await createNonceStore(gateway_store.nonces, { ttl_ms: TTL_MS }).consume('1001', 'n')
    expect(await withLostInsert().consume('1001', 'n')).toBe('reused')
  })

  test('the result is unknown if the nonce is absent, because the write may still arrive', async () => {
    expect(await withLostInsert().consume('1001', 'n')).toBe('unknown')
  })

  test('the result is unknown if the nonce cannot be read within a second', async () => {
    const silent = { ...gateway_store.nonces, get: () => new Promise<never>(() => {}) }
    const result = withLostResponse(silent).consume('1001', 'n')
    await eventually(
      () => gateway_store.nonces.get({ application_id: '1001', nonce: 'n' }),
      (stored) => stored !== undefined,
    )
    await clock.advance(1_000)
    expect(await result).toBe('unknown')
  })

  test('the result is unknown if the nonce cannot be read', async () => {
    const unavailable = {
      ...gateway_store.nonces,
      get: () => Promise.reject(new Unavailable('the store is down')),
    }
    expect(await withLostResponse(unavailable).consume('1001', 'n')).toBe('unknown')
    expect(await withLostResponse().consume('1001', 'n')).toBe('reused')
  })
})

test('rethrows an unexpected fault', async () => {
  const nonces = createNonceStore(gateway_store.nonces, { ttl_ms: TTL_MS })
  await expect(nonces.consume('1001', '\ud800')).rejects.toThrow(TypeError)
})
