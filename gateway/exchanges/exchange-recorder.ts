import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { timeOfUuid, uuidv7 } from '#lib/base/ids.ts'
import { clock, every, now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Log } from '#lib/telemetry/log.ts'
import { type Exchange, elapsedMs } from '../http/exchange.ts'
import { plainReference } from '../http/exchange-log.ts'
import {
  filterKeysOf,
  KEPT_MS,
  type KeptExchange,
  type LostExchanges,
  type StoredExchange,
} from './kept-exchange.ts'

/** Where exchanges are kept. */
export interface ExchangeCollections {
  readonly exchanges: Collection<StoredExchange>
  readonly lost_exchanges: Collection<LostExchanges>
}

/** Takes note of answered requests. */
export type ExchangeRecorder = ReturnType<typeof createExchangeRecorder>

/** How long exchanges wait in memory. With the watch of the back office they are shown within a second. */
const FLUSH_MS = 250
/** The exchanges that wait in memory, for all merchants: about 5 MB. */
const WAITING_MAX = 10_000
const INSERTS_AT_A_TIME = 500
/** How often the counts of lost exchanges are written: each process writes one document per merchant and time. */
const LOST_MS = 5_000
/**
 * The oldest exchange that is still written. A stream reads a minute behind its newest exchange (O20), which is this, the time limit of a
 * write, and the difference of two clocks: so it misses only what was counted as lost.
 */
const LATE_MS = 20_000
/** The merchants about which something is remembered. */
const MERCHANTS_MAX = 10_000

/**
 * What one process keeps of the requests of a merchant: 2,000 at once, and 1 per second over a long time. So 7 days of a flood
 * have about 600,000 exchanges.
 */
const ALLOWANCE = { burst: 2_000, per_second: 1 } as const

/** The form of a path in a request. Another one can hold any text of the merchant, as the name of an unknown field. */
const PLAIN_PATH = /^[\w.[\]-]{1,200}$/

/**
 * Makes the recorder of exchanges (O20). It gathers them in memory and writes them in batches, so no request waits for it. It
 * loses what exceeds the allowance of a merchant or cannot be stored, and writes down how many. A flood of one merchant, or of
 * wrong signatures in its name, takes no room from other exchanges.
 */
export function createExchangeRecorder({ exchanges, lost_exchanges }: ExchangeCollections, log: Log) {
  const allowances = new LRUCache<string, { tokens: number; at_ms: number }>(entriesUpTo(MERCHANTS_MAX))
  const lost = new Map<string, number>()
  let waiting: KeptExchange[] = []
  let lost_written_ms = clock.monotonic_ms()

  function lose(merchant_id: string, count = 1): void {
    const before = lost.get(merchant_id)
    if (before !== undefined || lost.size < MERCHANTS_MAX) lost.set(merchant_id, (before ?? 0) + count)
  }

  function useAllowance(key: string): boolean {
    const at_ms = clock.monotonic_ms()
    const known = allowances.get(key)
    if (known === undefined) {
      allowances.set(key, { tokens: ALLOWANCE.burst - 1, at_ms })
      return true
    }
    const refill = ((at_ms - known.at_ms) / 1_000) * ALLOWANCE.per_second
    known.tokens = Math.min(ALLOWANCE.burst, known.tokens + refill)
    known.at_ms = at_ms
    if (known.tokens < 1) return false
    known.tokens -= 1
    return true
  }

  /** Whether an exchange can still be written. Otherwise it is counted as lost. */
  function isInTime({ answered_at, merchant_id }: KeptExchange): boolean {
    const is_in_time = clock.now_ms() - answered_at.getTime() <= LATE_MS
    if (!is_in_time) lose(merchant_id)
    return is_in_time
  }

  async function storeExchanges(batch: readonly KeptExchange[]): Promise<void> {
    for (let from = 0; from < batch.length; from += INSERTS_AT_A_TIME) {
      const some = batch.slice(from, from + INSERTS_AT_A_TIME).filter(isInTime)
      const inserts = some.map((exchange) => exchanges.insert(toStored(exchange), { is_grouped: true }))
      for (const [index, { status }] of (await Promise.allSettled(inserts)).entries())
        if (status === 'rejected') lose(some[index]?.merchant_id ?? '')
    }
  }

  async function storeLost(): Promise<void> {
    const counts = [...lost]
    lost.clear()
    for (const [merchant_id, count] of counts) {
      const expires_at = expiryFrom(now())
      try {
        await lost_exchanges.insert({ merchant_id, exchange_id: uuidv7(), count, expires_at })
      } catch (error) {
        lose(merchant_id, count)
        throw error
      }
    }
  }

  async function flush(is_last = false): Promise<void> {
    const batch = waiting
    waiting = []
    await storeExchanges(batch)
    if (lost.size === 0 || (!is_last && clock.monotonic_ms() - lost_written_ms < LOST_MS)) return
    lost_written_ms = clock.monotonic_ms()
    await storeLost()
  }

  const onError = (error: unknown): void => log.debug({ error }, 'lost exchanges could not be counted')
  const flushing = every(FLUSH_MS, flush, onError)
  return {
    /** Takes note of an exchange with its response. Costs no more than memory. */
    record(exchange: Exchange): void {
      const known = merchantOf(exchange)
      if (known === undefined) return
      const { merchant_id, environment, is_authenticated } = known
      if (environment === 'production' && exchange.context.code === undefined) return
      const has_room = waiting.length < WAITING_MAX
      if (!has_room || !useAllowance(`${merchant_id} ${environment} ${is_authenticated}`)) lose(merchant_id)
      else waiting.push(keptExchange(exchange, known))
    },
    /** Writes what is left. */
    async stop(): Promise<void> {
      await flushing.stop()
      await flush(true).catch(onError)
    },
  }
}

interface KnownMerchant {
  readonly merchant_id: string
  readonly environment: Environment
  readonly is_authenticated: boolean
}

/** Whose exchange it is; `undefined` for one of an unknown application, or whose caller got no response. */
function merchantOf({ response, context }: Exchange): KnownMerchant | undefined {
  if (!response.writableEnded) return undefined
  const { merchant_id, environment } = context.claimed ?? {}
  if (merchant_id === undefined || environment === undefined) return undefined
  return { merchant_id, environment, is_authenticated: context.sign !== undefined }
}

function keptExchange(exchange: Exchange, known: KnownMerchant): KeptExchange {
  const { request_id, response, context } = exchange
  const { application_id = '', method, code, field, payment } = context
  const exchange_id = uuidv7()
  return {
    ...known,
    exchange_id,
    // Lists select by the id, so the time that they show must be the same.
    answered_at: new Date(timeOfUuid(exchange_id)),
    request_id,
    application_id,
    method,
    http_status: response.statusCode,
    code,
    field: field !== undefined && PLAIN_PATH.test(field) ? field : undefined,
    duration_ms: elapsedMs(exchange),
    c_id: plainReference(payment?.c_id),
  }
}

function toStored(exchange: KeptExchange): StoredExchange {
  return {
    ...exchange,
    filter_keys: filterKeysOf(exchange),
    expires_at: expiryFrom(now()),
  }
}

function expiryFrom(time: Date): Date {
  return new Date(time.getTime() + KEPT_MS)
}
