import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { WatchExchangesRequestSchema } from '#gen/multihub/backoffice/v1/exchange_service_pb.ts'
import { ListNewExchangesResponseSchema } from '#gen/multihub/gateway/v1/exchange_read_service_pb.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { watchExchanges } from './watch-exchanges.ts'

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** The id of an exchange that began that long ago. */
function idOf(age_ms: number, number: number): string {
  const digits = (clock.now_ms() - age_ms).toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-${`${number}`.padStart(12, '0')}`
}

/** A stream, and the ids that gateways have stored. */
async function openStream() {
  const stored: string[] = []
  const listNewExchanges = async ({ afterExchangeId = '', pageSize = 0 }) => {
    const ids = stored
      .filter((id) => id > afterExchangeId)
      .sort()
      .slice(0, pageSize)
    return create(ListNewExchangesResponseSchema, { exchanges: ids.map((exchangeId) => ({ exchangeId })) })
  }
  const again = async (sinceCursor = '') => {
    const { poll } = await watchExchanges(
      { listNewExchanges },
      create(WatchExchangesRequestSchema, { sinceCursor }),
    )
    return async () => (await poll())?.exchanges.map(({ exchangeId }) => exchangeId)
  }
  return { stored, read: await again(), again }
}

// O20: gateways store exchanges at about the same time, not in the order of their ids
test('an exchange that is stored after a later one is in the stream, at once if it is up to 6 s late, and each is there once', async () => {
  const { stored, read } = await openStream()
  await clock.advance(70_000)
  const newest = idOf(0, 9)
  stored.push(newest)
  expect(await read()).toEqual([newest])
  expect(await read()).toBeUndefined()
  const late = idOf(6_000, 1)
  const later = idOf(6_001, 2)
  const latest = idOf(50_000, 3)
  stored.push(late, later, latest)
  expect(await read()).toEqual([late])
  expect(await read()).toBeUndefined()
  await clock.advance(10_000)
  expect(await read()).toEqual([latest, later])
  expect(await read()).toBeUndefined()
  await clock.advance(10_000)
  expect(await read()).toBeUndefined()
})

// O20
test('a late exchange is in the stream also while others come, and after a cursor', async () => {
  const { stored, read, again } = await openStream()
  await clock.advance(70_000)
  const first = Array.from({ length: 250 }, (_, number) => idOf(40_000, number))
  stored.push(...first)
  const cursor = idOf(0, 9)
  stored.push(cursor)
  expect(await read()).toEqual(first.slice(0, 200))
  expect(await read()).toEqual([...first.slice(200), cursor])
  expect(await read()).toBeUndefined()
  const late = idOf(30_000, 1_000)
  stored.push(late)
  const next = await again(cursor)
  const ids = [...((await next()) ?? []), ...((await next()) ?? [])]
  expect(ids).toContain(late)
})
