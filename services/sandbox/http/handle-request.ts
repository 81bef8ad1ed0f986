import type { Secret } from '#lib/base/crypto/secret.ts'
import { claimedAccount, type ReceivedHeaders, verifySignedRequest } from '#lib/base/crypto/signed-request.ts'
import { now } from '#lib/base/time.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { type Operation, reportOf } from '../domain/operation.ts'
import { isIdempotencyKey, parseOrder } from '../domain/order.ts'
import { operationKey } from '../store/operations.ts'
import { type CreateOperationDeps, createOperation } from '../use-cases/create-operation.ts'
import { OPERATIONS_PATH, refuse, respondJson, respondText, type ServerAction } from './protocol.ts'

/** A complete request. `path` is the raw request target, as signed. */
interface ProviderRequest {
  readonly method: string
  readonly path: string
  readonly headers: ReceivedHeaders
  readonly body: Buffer
}

interface RequestHandlerDeps extends CreateOperationDeps {
  readonly key: Secret
  readonly clock_guard: ClockGuard
  /** A function, because a free port is known only after listening. */
  readonly baseUrl: () => string
}

/** Handles one request of the provider protocol. An unexpected error is thrown. */
export type RequestHandler = ReturnType<typeof createRequestHandler>

const PAYMENT_PAGE =
  'This is the test environment. There is nothing to pay here: the last three digits of the amount decide.\n'

/** Creates the handler of the provider protocol and of the payment pages. */
export function createRequestHandler(deps: RequestHandlerDeps) {
  return async (request: ProviderRequest): Promise<ServerAction> => {
    if (request.path.startsWith('/pay/')) return respondText(200, PAYMENT_PAGE)
    const lookup_key = lookupKeyOf(request.path)
    if (request.path !== OPERATIONS_PATH && lookup_key === undefined) return refuse('unknown_path')
    // A refusal ends an operation, but a wrong clock cannot tell a stale signature from a fresh one.
    if (!deps.clock_guard.isTrusted()) return respondText(503, 'Unavailable\n')
    const account_id = claimedAccount(request.headers)
    if (
      account_id === undefined ||
      !verifySignedRequest(deps.key, { account_id, ...request }, request.headers)
    )
      return refuse('not_authenticated')
    if (request.method !== (lookup_key === undefined ? 'POST' : 'GET')) return refuse('wrong_verb')
    if (lookup_key === undefined) return create(deps, account_id, request.body)
    const key = operationKey({ account_id, idempotency_key: lookup_key })
    const operation = await deps.operations.get(key)
    return operation === undefined ? refuse('not_found') : respondReport(deps, operation, now())
  }
}

function lookupKeyOf(path: string): string | undefined {
  if (!path.startsWith(`${OPERATIONS_PATH}/`)) return undefined
  const key = path.slice(OPERATIONS_PATH.length + 1)
  return isIdempotencyKey(key) ? key : undefined
}

async function create(deps: RequestHandlerDeps, account_id: string, body: Buffer): Promise<ServerAction> {
  const order = parseOrder(body)
  if (order === undefined) return refuse('malformed')
  const created = await createOperation(deps, account_id, order)
  if (created === undefined) return refuse('key_conflict')
  const { operation, is_new } = created
  // A slow insert must not make the first report final: it shows the status at creation.
  return respondToCreate(deps, operation, is_new ? operation.created_at : now())
}

/** Responds as the digits demand. A repeated create gets the same kind of response. */
function respondToCreate(deps: RequestHandlerDeps, operation: Operation, at: Date): ServerAction {
  switch (operation.create_response) {
    case 'report':
      return respondReport(deps, operation, at)
    case 'refusal':
      return respondJson(422, { accepted: false, code: operation.result.code })
    case 'refusal_500':
      return respondJson(500, { accepted: false, code: operation.result.code })
    case 'no_response':
    case 'reset':
      return { kind: operation.create_response }
    case 'text_500':
      return respondText(500, 'Internal Server Error\n')
    case 'unknown_json':
      return respondJson(200, { result: 'OK', id: operation.provider_id })
  }
}

function respondReport(deps: RequestHandlerDeps, operation: Operation, at: Date): ServerAction {
  return respondJson(200, { accepted: true, ...reportOf(operation, at, deps.baseUrl()) })
}
