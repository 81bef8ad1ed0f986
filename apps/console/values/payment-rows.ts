import type { JsonObject } from '@bufbuild/protobuf'
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'

interface Row {
  readonly kind: string
  readonly time?: Timestamp | undefined
  readonly data?: JsonObject | undefined
}

/** One try of something, which has ended. */
export interface Try {
  readonly number: number
  readonly at_ms: number
  readonly duration_ms: number
  /** 0 without a response. */
  readonly http_status: number
  /** Empty after a success. */
  readonly failure: string
}

/** A callback about a payment, with its tries. */
export interface Callback {
  readonly delivery_id: string
  readonly event: string
  readonly url: string
  readonly tries: readonly Try[]
}

/**
 * The rows of a timeline as they are now, with what was revealed of those that were there then: of the same kind at the same time.
 * Where several are, their order tells them apart.
 */
export function withRevealed<R extends Row>(rows: readonly R[], revealed: readonly R[]): readonly R[] {
  const known = Map.groupBy(revealed, placeOf)
  const seen = new Map<string, number>()
  return rows.map((row) => {
    const place = placeOf(row)
    const before = seen.get(place) ?? 0
    seen.set(place, before + 1)
    return known.get(place)?.[before] ?? row
  })
}

function placeOf({ kind, time }: Row): string {
  return `${kind} ${time?.seconds}.${time?.nanos}`
}

/** The callbacks in a timeline, in the order of their first tries. */
export function callbacksOf(rows: readonly Row[]): readonly Callback[] {
  const callbacks = new Map<string, Callback>()
  for (const { kind, data, time } of rows) {
    if (kind !== 'delivery' || data === undefined) continue
    const delivery_id = textOf(data['delivery_id'])
    const known = callbacks.get(delivery_id)
    callbacks.set(delivery_id, {
      delivery_id,
      event: textOf(data['event']),
      url: textOf(data['url']),
      tries: [...(known?.tries ?? []), tryOf(data, time)],
    })
  }
  return [...callbacks.values()]
}

function tryOf(data: JsonObject, time: Timestamp | undefined): Try {
  return {
    number: Number(data['number'] ?? 0),
    at_ms: time === undefined ? 0 : timestampMs(time),
    duration_ms: Number(data['duration_ms'] ?? 0),
    http_status: Number(data['http_status'] ?? 0),
    failure: textOf(data['failure']),
  }
}

/** An entry of the ledger about a payment, with the balances around it, in minor units. */
export interface PaymentEntry {
  readonly entry_id: string
  readonly time?: Timestamp | undefined
  readonly reason: string
  readonly currency: string
  readonly available: Change
  readonly held: Change
}

/** A balance before and after an entry. */
export interface Change {
  readonly before: bigint
  readonly after: bigint
}

/** The entries of the ledger in a timeline. */
export function entriesOf(rows: readonly Row[]): readonly PaymentEntry[] {
  return rows.flatMap(({ kind, time, data }) => {
    if (kind !== 'ledger_entry' || data === undefined) return []
    return {
      entry_id: textOf(data['entry_id']),
      time,
      reason: textOf(data['reason'] ?? data['entry_kind']),
      currency: textOf(data['currency']),
      available: changeOf(data, 'available'),
      held: changeOf(data, 'held'),
    }
  })
}

/** What an entry credits was less before it, and what it debits was more. */
function changeOf(data: JsonObject, account: 'available' | 'held'): Change {
  const after = BigInt(textOf(data[`${account}_after`]) || 0)
  const amount = BigInt(textOf(data['amount']) || 0)
  const credited = data['credit'] === account ? amount : 0n
  const debited = data['debit'] === account ? amount : 0n
  return { before: after - credited + debited, after }
}

/** An attempt at a provider account. */
export interface PaymentAttempt extends Try {
  readonly account_id: string
  /** What the account answered, such as `pending`. */
  readonly outcome: string
}

/** The attempts in a timeline, in their order. */
export function attemptsOf(rows: readonly Row[]): readonly PaymentAttempt[] {
  return rows.flatMap(({ kind, time, data }) =>
    kind === 'attempt' && data !== undefined
      ? { ...tryOf(data, time), account_id: textOf(data['account_id']), outcome: textOf(data['outcome']) }
      : [],
  )
}

/** The duration below which a share of the tries stayed, in milliseconds; `undefined` without a try. */
export function percentileOf(tries: readonly Try[], share: number): number | undefined {
  const sorted = tries.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? '' : String(value)
}
