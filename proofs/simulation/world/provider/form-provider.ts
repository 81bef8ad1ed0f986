import type { WireRequest, WireResponse } from '../../parts/http/serve-in-memory.ts'
import { createBooks, type ProviderOrder } from './books.ts'
import { createDecision } from './decision.ts'
import type { ProviderFaults } from './faults.ts'
import type { ProviderOperation } from './operation.ts'
import type { Provider, ProviderDeps } from './provider.ts'
import { json, respond, respondToCreate } from './respond.ts'

/** What the provider calls the kinds of operations, by the path of their creates. */
const KINDS: Readonly<Record<string, readonly [kind: ProviderOperation['kind'], type: string]>> = {
  '/v1/collections': ['deposit', 'collection'],
  '/v1/payouts': ['withdrawal', 'payout'],
  '/v1/reversals': ['refund', 'reversal'],
}

const TYPES: Readonly<Record<string, string>> = Object.fromEntries(Object.values(KINDS))

const STATES: Readonly<Record<ProviderOperation['status'], string>> = {
  pending: 'PROCESSING',
  success: 'SETTLED',
  declined: 'FAILED',
  canceled: 'VOIDED',
}

/** The only account of the provider. */
const ACCOUNT = 'forms'

/** An amount in a currency with two decimal places, which all of its operations have. */
const AMOUNT = /^[0-9]+\.[0-9]{2}$/

/**
 * Makes the provider that speaks another protocol (docs/provider-protocol.md): forms, a bearer token, decimal amounts, no
 * idempotency keys and no callbacks.
 */
export function createFormProvider(
  deps: ProviderDeps & { readonly origin: string },
  faults: ProviderFaults,
): Provider {
  const { network, choices, key, origin } = deps
  const problems: string[] = []
  const onProblem = (problem: string): void => void problems.push(problem)
  const decide = createDecision(deps, faults, () => {})
  const books = createBooks({ ...deps, faults, has_keys: false }, decide, onProblem)

  function create(path: string, body: Uint8Array): WireResponse {
    const form = new URLSearchParams(Buffer.from(body).toString())
    const [kind] = KINDS[path] ?? []
    if (kind === undefined || !AMOUNT.test(form.get('amount') ?? '')) {
      onProblem(`the provider of forms got ${path} ${form}`)
      return json(422, { error: 'MALFORMED' })
    }
    const created = books.create(ACCOUNT, orderOf(kind, form))
    if (created === undefined) return json(422, { error: 'REPEATED' })
    const { operation } = created
    const is_refused = operation.status === 'declined' && choices.chance(0.5)
    return is_refused
      ? json(422, { error: 'LIMIT_OF_PROVIDER' })
      : json(201, { transfer: transferOf(operation) })
  }

  function lookUp(path: string): WireResponse {
    const references = new URL(path, origin).searchParams.getAll('reference')
    const found = references.flatMap((reference) => books.lookUp(ACCOUNT, reference) ?? [])
    return json(200, { transfers: found.map(transferOf) })
  }

  async function handle({ method, path, headers, body }: WireRequest): Promise<WireResponse | undefined> {
    const authorization = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')
    if (authorization?.[1] !== `Bearer ${key.reveal()}`) {
      onProblem(`a request to ${path} has no valid token`)
      return json(401, { error: 'TOKEN_INVALID' })
    }
    if (method !== 'POST') return respond(choices, faults, lookUp(path))
    const is_refund = KINDS[path]?.[0] === 'refund'
    return respondToCreate(choices, faults, is_refund, () => create(path, body))
  }

  network.addServer(origin, handle)
  return { problems, operations: books.operations, isIdle: () => true }
}

function orderOf(kind: ProviderOperation['kind'], form: URLSearchParams): ProviderOrder {
  const read = (name: string): string => form.get(name) ?? ''
  return {
    kind,
    idempotency_key: read('reference'),
    ...(kind === 'refund' ? { deposit_idempotency_key: read('collection') } : {}),
    amount: Number(read('amount').replace('.', '')),
    currency: read('currency'),
    method: read('channel'),
    callback_url: '',
    expires_ms: kind === 'deposit' ? Date.parse(read('expires_at')) : Number.POSITIVE_INFINITY,
  }
}

function transferOf(operation: ProviderOperation): object {
  const { kind, idempotency_key, provider_id, amount, currency, status, completed_ms } = operation
  const digits = String(amount).padStart(3, '0')
  return {
    id: provider_id,
    reference: idempotency_key,
    type: TYPES[kind],
    state: STATES[status],
    amount: `${digits.slice(0, -2)}.${digits.slice(-2)}`,
    currency,
    ...(status === 'success' ? { settled_at: new Date(completed_ms ?? 0).toISOString() } : {}),
  }
}
