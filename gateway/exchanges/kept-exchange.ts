import type { Environment } from '#lib/contract/environment.ts'

/** How long exchanges are kept (O20). */
export const KEPT_MS = 7 * 24 * 3_600_000

/** One request of a merchant with its response, without secrets and personal data. */
export interface KeptExchange {
  readonly merchant_id: string
  /** A UUIDv7 of the time of the response, so that ids sort by time. */
  readonly exchange_id: string
  readonly answered_at: Date
  readonly request_id: string
  readonly application_id: string
  readonly environment: Environment
  readonly method?: string | undefined
  readonly http_status: number
  /** Absent for a success. */
  readonly code?: number | undefined
  readonly field?: string | undefined
  readonly duration_ms: number
  readonly c_id?: string | undefined
  /** Whether the signature was right. Anyone can name an application in a request with a wrong one. */
  readonly is_authenticated: boolean
}

/** An exchange as it is stored: with the keys of the filters that select it. */
export interface StoredExchange extends KeptExchange {
  readonly filter_keys: readonly string[]
  readonly expires_at: Date
}

/** Exchanges of a merchant that were not kept, as one process counted them up to the time of the id. */
export interface LostExchanges {
  readonly merchant_id: string
  /** A UUIDv7 of the time of the count. */
  readonly exchange_id: string
  readonly count: number
  readonly expires_at: Date
}

/** Selects exchanges of one merchant. */
export interface ExchangeFilter {
  readonly merchant_id: string
  readonly application_id?: string | undefined
  readonly method?: string | undefined
  readonly code?: number | undefined
  readonly only_refused?: boolean
}

/** The key of a filter, which each exchange that it selects has; empty for a filter that selects all of the merchant. */
export function filterKey({ application_id, method, code, only_refused = false }: Partial<ExchangeFilter>) {
  const parts = [
    application_id === undefined ? '' : `a=${application_id}`,
    method === undefined ? '' : `m=${method}`,
    code === undefined ? (only_refused ? 'refused' : '') : `c=${code}`,
  ]
  return parts.filter((part) => part !== '').join(' ')
}

/** The keys of all filters that select an exchange, except the filter that selects all. */
export function filterKeysOf({ application_id, method, code }: KeptExchange): readonly string[] {
  const methods = method === undefined ? [undefined] : [undefined, method]
  const results = code === undefined ? [{}] : [{}, { only_refused: true }, { code }]
  const keys = [undefined, application_id].flatMap((application) =>
    methods.flatMap((name) =>
      results.map((result) => filterKey({ application_id: application, method: name, ...result })),
    ),
  )
  return keys.filter((key) => key !== '')
}

/** The text that sorts before the ids of an instant and after all earlier ids. */
export function firstIdAt(time_ms: number): string {
  const digits = Math.max(0, Math.floor(time_ms)).toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}`
}
