import type { Secret } from '#lib/base/crypto/secret.ts'
import { claimedAccount, verifySignedRequest } from '#lib/base/crypto/signed-request.ts'
import type { HttpNetwork } from '../../parts/http/http-network.ts'
import type { WireRequest, WireResponse } from '../../parts/http/serve-in-memory.ts'
import { type Books, createBooks, type ProviderOrder } from './books.ts'
import { createCallbackSender, reportPending } from './callbacks.ts'
import { createDecision, type DecisionDeps } from './decision.ts'
import type { ProviderFaults } from './faults.ts'
import { type ProviderOperation, reportOf } from './operation.ts'
import { json, respond, respondToCreate } from './respond.ts'

/** A provider of the simulation. */
export interface Provider {
  operations(): Iterable<ProviderOperation>
  /** Whether no callback is being sent or sent again. */
  isIdle(): boolean
  /** What is wrong with the requests so far, such as one key for two operations. */
  readonly problems: readonly string[]
}

/** Several providers as one. */
export function combineProviders(providers: readonly Provider[]): Provider {
  return {
    get problems() {
      return providers.flatMap(({ problems }) => problems)
    },
    operations: () => providers.flatMap((provider) => [...provider.operations()]),
    isIdle: () => providers.every((provider) => provider.isIdle()),
  }
}

/** What a provider runs on. All its accounts share the key. */
export interface ProviderDeps extends DecisionDeps {
  readonly network: HttpNetwork
  readonly key: Secret
}

/** Makes the provider that speaks our own protocol, and its servers at the given origins. */
export function createProvider(
  deps: ProviderDeps,
  faults: ProviderFaults,
  origins: readonly string[],
): Provider & { readonly books: Books } {
  const { network, choices, key } = deps
  const problems: string[] = []
  const onProblem = (problem: string): void => void problems.push(problem)
  const sendCallbacks = createCallbackSender({ ...deps, faults, onProblem })
  let sending = 0
  const decide = createDecision(deps, faults, async (operation) => {
    sending += 1
    await sendCallbacks(operation)
    sending -= 1
  })
  const books = createBooks({ ...deps, faults, has_keys: true }, begin, onProblem)

  function begin(operation: ProviderOperation): void {
    if (faults.dropped > 0 && choices.chance(faults.dropped)) void dropOnceKnown(operation)
    else decide(operation)
  }

  /** The provider loses an operation permanently, after Multihub has acknowledged that it has it. Nobody is paid. */
  async function dropOnceKnown(operation: ProviderOperation): Promise<void> {
    if (await reportPending(deps, operation)) books.drop(operation)
    else decide(operation)
  }

  function create(account_id: string, order: ProviderOrder): WireResponse {
    const created = books.create(account_id, order)
    if (created === undefined) return json(409, { accepted: false, code: 1013 })
    const { operation, is_new } = created
    const is_refused = is_new && operation.status === 'declined' && choices.chance(0.5)
    return is_refused
      ? json(422, { accepted: false, code: 7001 })
      : json(200, { accepted: true, ...reportOf(operation) })
  }

  /** A refusal of what was made and reported, which proves nothing (P4). */
  async function createAndRefuse(account_id: string, order: ProviderOrder): Promise<WireResponse> {
    const response = create(account_id, order)
    const operation = books.find(account_id, order.idempotency_key)
    const is_reported = operation?.status === 'pending' && (await reportPending(deps, operation))
    return is_reported ? json(422, { accepted: false, code: 7001 }) : response
  }

  function lookUp(account_id: string, { path }: WireRequest): WireResponse {
    const operation = books.lookUp(account_id, path.split('/').at(-1) ?? '')
    return operation === undefined
      ? json(404, { accepted: false, code: 6010 })
      : json(200, { accepted: true, ...reportOf(operation) })
  }

  async function handle(request: WireRequest): Promise<WireResponse | undefined> {
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const account_id = claimedAccount(headers)
    if (account_id === undefined || !verifySignedRequest(key, { account_id, ...request }, headers)) {
      onProblem(`a request to ${request.path} has no valid signature`)
      return json(401, { accepted: false, code: 4001 })
    }
    if (request.method !== 'POST') return respond(choices, faults, lookUp(account_id, request))
    const order = orderOf(request.body)
    if (faults.late_refusal > 0 && choices.chance(faults.late_refusal))
      return respond(choices, faults, await createAndRefuse(account_id, order))
    return respondToCreate(choices, faults, order.kind === 'refund', () => create(account_id, order))
  }

  for (const origin of origins) network.addServer(origin, handle)
  return { problems, books, operations: books.operations, isIdle: () => sending === 0 }
}

/** The order of a create. Only deposits expire. */
function orderOf(body: Uint8Array): ProviderOrder {
  const {
    kind,
    idempotency_key,
    deposit_idempotency_key,
    amount,
    currency,
    method,
    callback_url,
    expires_at,
  } = JSON.parse(Buffer.from(body).toString())
  return {
    kind,
    idempotency_key,
    amount,
    currency,
    method,
    callback_url,
    ...(kind === 'refund' ? { deposit_idempotency_key } : {}),
    expires_ms: kind === 'deposit' ? Date.parse(expires_at) : Number.POSITIVE_INFINITY,
  }
}
