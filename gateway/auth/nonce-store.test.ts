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

const TTL_MS = 660_000

let edge: GatewayStoreFixture
let clock: ManualClock
let restore: () => void
beforeEach(async () => {
  edge = await openGatewayStoreFixture()
  clock = createManualClock()
  restore = useClock(clock)
})
afterEach(async () => {
  restore()
  await edge[Symbol.asyncDispose]()
})

test('an application spends a nonce once; another application may use the same', async () => {
  const nonces = createNonceStore(edge.nonces, { ttl_ms: TTL_MS })
  expect(await nonces.consume('1001', 'n')).toBe('consumed')
  expect(await nonces.consume('1001', 'n')).toBe('reused')
  expect(await nonces.consume('1001', 'N')).toBe('consumed')
  expect(await nonces.consume('1002', 'n')).toBe('consumed')
})

test('the longest application id and nonce fit', async () => {
  const nonces = createNonceStore(edge.nonces, { ttl_ms: TTL_MS })
  expect(await nonces.consume('9'.repeat(16), '~'.repeat(128))).toBe('consumed')
  expect(await nonces.consume('9'.repeat(16), '~'.repeat(128))).toBe('reused')
})

test('a nonce is remembered for so long and then forgotten', async () => {
  const nonces = createNonceStore(edge.nonces, { ttl_ms: TTL_MS })
  await nonces.consume('1001', 'n')
  clock.stepWall(TTL_MS - 1)
  expect(await nonces.consume('1001', 'n')).toBe('reused')
  clock.stepWall(1)
  expect(await nonces.consume('1001', 'n')).toBe('consumed')
})

test('nobody is sure when the store is closed', async () => {
  const nonces = createNonceStore(edge.nonces, { ttl_ms: TTL_MS })
  await nonces.consume('1001', 'n')
  await edge.store.close()
  expect(await nonces.consume('1001', 'n')).toBe('unknown')
  expect(await nonces.consume('1001', 'other')).toBe('unknown')
})

describe('when the answer of the store was lost', () => {
  const lossy = (nonces = edge.nonces) =>
    createNonceStore(interceptCalls(nonces, loseWriteResults(1, 1)), { ttl_ms: TTL_MS })

  test('the nonce is spent if it is there by this request', async () => {
    const nonces = lossy()
    expect(await nonces.consume('1001', 'n')).toBe('consumed')
    expect(await nonces.consume('1001', 'n')).toBe('reused')
  })

  test('the nonce is reused if it is there by another request', async () => {
    await createNonceStore(edge.nonces, { ttl_ms: TTL_MS }).consume('1001', 'n')
    const swallowed = {
      ...edge.nonces,
      insert: () => Promise.reject(new Ambiguous('it was a duplicate, but nobody heard that')),
    }
    expect(await createNonceStore(swallowed, { ttl_ms: TTL_MS }).consume('1001', 'n')).toBe('reused')
  })

  test('nobody is sure if it is not there, for it may yet come', async () => {
    const late = { ...edge.nonces, insert: () => Promise.reject(new Ambiguous('it is on its way')) }
    expect(await createNonceStore(late, { ttl_ms: TTL_MS }).consume('1001', 'n')).toBe('unknown')
  })

  test('nobody is sure if it cannot be read within a second', async () => {
    const silent = { ...edge.nonces, get: () => new Promise<never>(() => {}) }
    const spending = lossy(silent).consume('1001', 'n')
    await eventually(
      () => edge.nonces.get({ application_id: '1001', nonce: 'n' }),
      (there) => there !== undefined,
    )
    await clock.advance(1_000)
    expect(await spending).toBe('unknown')
  })

  test('nobody is sure if it cannot be read at all', async () => {
    const gone = { ...edge.nonces, get: () => Promise.reject(new Unavailable('nobody there')) }
    expect(await lossy(gone).consume('1001', 'n')).toBe('unknown')
    expect(await lossy().consume('1001', 'n')).toBe('reused')
  })
})

test('a fault stays a fault', async () => {
  const nonces = createNonceStore(edge.nonces, { ttl_ms: TTL_MS })
  await expect(nonces.consume('1001', '\ud800')).rejects.toThrow(TypeError)
})
