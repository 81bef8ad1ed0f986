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
  const { poll } = await watchExchanges({ listNewExchanges }, create(WatchExchangesRequestSchema))
  const read = async () => (await poll())?.exchanges.map(({ exchangeId }) => exchangeId)
  return { stored, read }
}

// O20: gateways store exchanges at about the same time, not in the order of their ids
test('an exchange that is stored after a later one is in the stream if it is up to 6 s late, and each is there once', async () => {
  const { stored, read } = await openStream()
  await clock.advance(10_000)
  const newest = idOf(0, 9)
  stored.push(newest)
  expect(await read()).toEqual([newest])
  const late = idOf(6_000, 1)
  stored.push(late, idOf(6_001, 2))
  expect(await read()).toEqual([late])
  expect(await read()).toBeUndefined()
})
