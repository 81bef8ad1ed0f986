import type { Secret } from '#lib/platform/crypto/secret.ts'
import {
  claimedAccount,
  type ReceivedHeaders,
  verifySignedRequest,
} from '#lib/platform/crypto/signed-request.ts'
import { now } from '#lib/platform/time.ts'
import type { CallbackSender } from './callbacks/callbacks.ts'
import { reportOf } from './domain/transaction.ts'
import {
  isIdempotencyKey,
  OPERATIONS_PATH,
  parseOrder,
  REQUEST_REFUSALS,
  type RequestRefusal,
} from './http/protocol.ts'
import type { StoredTransaction, TransactionStore } from './store/sandbox-store.ts'
import { create } from './use-cases/create-operation.ts'

/** A request as the transport read it. `path` is the raw request target. */
export interface ProviderRequest {
  readonly method: string
  readonly path: string
  readonly headers: ReceivedHeaders
  readonly body: Buffer
}

/** What the transport is to do: answer, never answer, or break the connection. */
export type Reaction =
  | { readonly kind: 'answer'; readonly http_status: number; readonly type: string; readonly body: string }
  | { readonly kind: 'silence' }
  | { readonly kind: 'reset' }

/** What the provider is made of. `base_url` is asked for late: a free port is known only once it is taken. */
export interface ProviderParts {
  readonly transactions: TransactionStore
  readonly callbacks: CallbackSender
  readonly key: Secret
  readonly delay_ms: number
  readonly base_url: () => string
}

const PAYMENT_PAGE =
  'This is the test environment. There is nothing to pay here: the last three digits of the amount decide.\n'

/** The provider without its transport: one request in, one reaction out. A fault is thrown, never refused. */
export function createProvider(parts: ProviderParts): (request: ProviderRequest) => Promise<Reaction> {
  return async (request) => {
    if (request.path.startsWith('/pay/')) return plain(200, PAYMENT_PAGE)
    const key = lookedUp(request.path)
    if (request.path !== OPERATIONS_PATH && key === undefined) return refusal('unknown_path')
    const account_id = claimedAccount(request.headers)
    if (
      account_id === undefined ||
      !verifySignedRequest(parts.key, { account_id, ...request }, request.headers)
    ) {
      return refusal('not_proved')
    }
    if (key !== undefined)
      return request.method === 'GET' ? lookUp(parts, account_id, key) : refusal('other_verb')
    return request.method === 'POST' ? take(parts, account_id, request.body) : refusal('other_verb')
  }
}

/** A refusal of the request as such. */
export function refusal(name: RequestRefusal): Reaction {
  const { http_status, code } = REQUEST_REFUSALS[name]
  return json(http_status, { accepted: false, code })
}

function lookedUp(path: string): string | undefined {
  if (!path.startsWith(`${OPERATIONS_PATH}/`)) return undefined
  const key = path.slice(OPERATIONS_PATH.length + 1)
  return isIdempotencyKey(key) ? key : undefined
}

async function lookUp(parts: ProviderParts, account_id: string, idempotency_key: string): Promise<Reaction> {
  const transaction = await parts.transactions.get({ account_id, idempotency_key })
  return transaction === undefined ? refusal('not_found') : report(parts, transaction, now())
}

async function take(parts: ProviderParts, account_id: string, body: Buffer): Promise<Reaction> {
  const order = parseOrder(body)
  if (order === undefined) return refusal('malformed')
  const creation = await create(parts.transactions, account_id, order, parts.delay_ms)
  if (creation.kind === 'key_of_another') return refusal('key_of_another')
  const { transaction, first } = creation
  if (first) parts.callbacks.schedule(transaction)
  return answerOf(parts, transaction, first ? transaction.created_at : now())
}

/** Answers a create in the way that its digits demand; a repeated create is answered in the same way. */
function answerOf(parts: ProviderParts, transaction: StoredTransaction, at: Date): Reaction {
  switch (transaction.answer) {
    case 'report':
      return report(parts, transaction, at)
    case 'refusal':
      return json(422, { accepted: false, code: transaction.verdict.code })
    case 'refusal_500':
      return json(500, { accepted: false, code: transaction.verdict.code })
    case 'silence':
    case 'reset':
      return { kind: transaction.answer }
    case 'bare_500':
      return plain(500, 'Internal Server Error\n')
    case 'foreign_body':
      return json(200, { result: 'OK', id: transaction.provider_id })
  }
}

function report(parts: ProviderParts, transaction: StoredTransaction, at: Date): Reaction {
  return json(200, { accepted: true, ...reportOf(transaction, at, parts.base_url()) })
}

function json(http_status: number, body: object): Reaction {
  return { kind: 'answer', http_status, type: 'application/json', body: JSON.stringify(body) }
}

/** An answer that is no JSON, and so not the protocol's. */
export function plain(http_status: number, body: string): Reaction {
  return { kind: 'answer', http_status, type: 'text/plain; charset=utf-8', body }
}
