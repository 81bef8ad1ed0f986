import { create } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import {
  type WatchExchangesRequest,
  type WatchExchangesResponse,
  WatchExchangesResponseSchema,
} from '#gen/multihub/backoffice/v1/exchange_service_pb.ts'
import type { ExchangeReadService } from '#gen/multihub/gateway/v1/exchange_read_service_pb.ts'
import { isUuid, timeOfUuid } from '#lib/base/ids.ts'
import { clock } from '#lib/base/time.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'

/** How far each read goes back: the clocks of gateways differ by at most 5 s, and each stores four times a second. */
const OVERLAP_MS = 6_000
/**
 * How far a read goes back now and then, and with the cursor of an earlier stream, for what a gateway stored late. A gateway writes no
 * exchange that is older than 20 s, but counts it as lost; a write takes some seconds, and clocks differ.
 */
const LATE_OVERLAP_MS = 60_000
const LATE_EVERY_MS = 10_000
/** The exchanges of one message. */
const MESSAGE_MAX = 200

/**
 * Reads the new exchanges of a merchant. Several gateways store them at about the same time, not in the order of their ids, so
 * each read begins a little before the last one ended and leaves out what is known.
 */
export async function watchExchanges(
  gateway: Pick<Client<typeof ExchangeReadService>, 'listNewExchanges'>,
  { sinceCursor, $typeName: _type, $unknown: _unknown, ...filter }: WatchExchangesRequest,
) {
  if (sinceCursor !== '' && !isUuid(sinceCursor))
    throw fieldError(9000, 'since_cursor', 'the cursor of a message of an earlier stream')
  const seen = new Set<string>()
  let cursor = sinceCursor === '' ? firstIdAt(clock.now_ms()) : sinceCursor
  let late_read_ms = clock.monotonic_ms() - LATE_EVERY_MS

  /** The news since the last call, the oldest first. */
  async function read(): Promise<WatchExchangesResponse | undefined> {
    const now_ms = clock.monotonic_ms()
    const is_late_read = now_ms - late_read_ms >= LATE_EVERY_MS
    const beginning = firstIdAt(timeOfUuid(cursor) - (is_late_read ? LATE_OVERLAP_MS : OVERLAP_MS))
    const first_known = firstIdAt(timeOfUuid(cursor) - LATE_OVERLAP_MS)
    for (const id of seen) if (id < first_known) seen.delete(id)
    const news = create(WatchExchangesResponseSchema)
    let after = beginning
    let is_last = false
    while (!is_last && news.exchanges.length === 0) {
      const page = await gateway.listNewExchanges({ filter, afterExchangeId: after, pageSize: MESSAGE_MAX })
      is_last = page.exchanges.length < MESSAGE_MAX
      news.exchanges = page.exchanges.filter(({ exchangeId }) => !seen.has(exchangeId))
      news.lost += page.lost
        .filter(({ exchangeId }) => !seen.has(exchangeId))
        .reduce((sum, { count }) => sum + count, 0n)
      for (const { exchangeId } of [...page.exchanges, ...page.lost]) {
        seen.add(exchangeId)
        if (exchangeId > cursor) cursor = exchangeId
      }
      after = page.exchanges.at(-1)?.exchangeId ?? after
    }
    // What was found ends a read, so the next one goes back as far.
    if (is_late_read && is_last) late_read_ms = now_ms
    if (news.exchanges.length === 0 && news.lost === 0n) return undefined
    news.cursor = cursor
    return news
  }

  // Without a cursor the stream begins with now: what is there already is known.
  if (sinceCursor === '') while ((await read()) !== undefined);
  const empty = (): WatchExchangesResponse => create(WatchExchangesResponseSchema, { cursor })
  return { first: empty(), poll: read, empty }
}

/** The first UUIDv7 of an instant. */
function firstIdAt(time_ms: number): string {
  const digits = Math.max(0, Math.floor(time_ms)).toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`
}
