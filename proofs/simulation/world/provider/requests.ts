import type { WireRequest } from '../../parts/http/serve-in-memory.ts'

/** The path of creates at a provider of our own protocol (docs/provider-protocol.md). */
const CREATE_PATH = '/provider/v1/operations'
/** The paths of creates at the provider of forms. */
const FORM_REFUND_PATH = '/v1/reversals'
const FORM_CREATE_PATHS = ['/v1/collections', '/v1/payouts', FORM_REFUND_PATH]
/** The path of lookups at the provider of forms. */
const FORM_LOOKUP_PATH = '/v1/transfers'

/** The kinds of requests that create an operation, by the kind of operation, as `kindOfRequest` names them. */
export const CREATE_KINDS = [
  ['create deposit', 'create /v1/collections'],
  ['create withdrawal', 'create /v1/payouts'],
  ['create refund', 'create /v1/reversals'],
] as const

/** The account that a refund is sent to, and the key of the deposit that it names. */
export interface RefundOrder {
  readonly idempotency_key: string
  readonly account_id: string
  readonly deposit_idempotency_key: string
}

/** The refund that a request asks a provider for; `undefined` for any other request. */
export function refundOrderOf({ method, path, headers, body }: WireRequest): RefundOrder | undefined {
  if (method !== 'POST') return undefined
  const text = Buffer.from(body).toString()
  if (path === FORM_REFUND_PATH) {
    const read = (name: string): string => new URLSearchParams(text).get(name) ?? ''
    return {
      idempotency_key: read('reference'),
      account_id: 'forms',
      deposit_idempotency_key: read('collection'),
    }
  }
  if (path !== CREATE_PATH) return undefined
  const { kind, idempotency_key, deposit_idempotency_key } = JSON.parse(text)
  if (kind !== 'refund') return undefined
  const account = Object.entries(headers).find(([name]) => name.toLowerCase() === 'x-provider-account')
  return { idempotency_key, account_id: String(account?.[1]), deposit_idempotency_key }
}

/** The key of a create at a provider; `undefined` for any other request. */
export function keyOfCreate({ method, path, body }: WireRequest): string | undefined {
  if (method !== 'POST') return undefined
  const text = Buffer.from(body).toString()
  if (path === CREATE_PATH) return JSON.parse(text).idempotency_key
  return FORM_CREATE_PATHS.includes(path) ? (new URLSearchParams(text).get('reference') ?? '') : undefined
}

/** The keys that a lookup asks a provider about; none for any other request. */
export function keysOfLookup({ method, path }: WireRequest): readonly string[] {
  if (method !== 'GET') return []
  if (path.startsWith(`${CREATE_PATH}/`)) return [path.slice(CREATE_PATH.length + 1)]
  if (!path.startsWith(`${FORM_LOOKUP_PATH}?`)) return []
  return new URLSearchParams(path.slice(FORM_LOOKUP_PATH.length)).getAll('reference')
}

/** What a request is for. Requests of one kind differ only in their data. */
export function kindOfRequest({ method, path, body }: WireRequest): string {
  if (path === CREATE_PATH) return `create ${JSON.parse(Buffer.from(body).toString()).kind}`
  if (FORM_CREATE_PATHS.includes(path)) return `create ${path}`
  return `${method} ${path.split(/[/?]/)[1]}`
}
