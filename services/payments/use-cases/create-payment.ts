import type { Environment } from '#lib/contract/environment.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { AMOUNT_MAX } from '#lib/contract/money.ts'
import { type Policy, permitsRoute } from '#lib/contract/policy.ts'
import { effect } from '#lib/patterns/effects/effect.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { Duplicate } from '#lib/platform/store/errors.ts'
import type { Collection, Stored } from '#lib/platform/store/port.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { now, sleep } from '#lib/platform/time.ts'
import { createEffect } from '../domain/apply-provider-update.ts'
import type { Payer, Payment, Webhook } from '../domain/payment.ts'
import { eventEffect } from '../effects/publish-event.ts'
import type { PaymentKey } from '../store/payments-store.ts'

/** A route as far as a payment needs it. */
export interface PaymentRoute {
  readonly service_id: string
  readonly merchant_id: string
  readonly environment: Environment
  readonly direction: 'in' | 'out'
  readonly method: string
  readonly currency: string
  readonly connector: string
  readonly provider_accounts: readonly string[]
  readonly numeric_h_id: boolean
  readonly expires_in_seconds: number
  readonly minimum_amount: bigint
  readonly enabled: boolean
}

/** A payment request whose form the gateway has checked. */
export interface CreateRequest {
  readonly merchant_id: string
  readonly environment: Environment
  readonly policy: Policy
  readonly service_id: string
  readonly direction: 'in' | 'out'
  readonly c_id: string
  readonly amount: bigint
  readonly currency: string
  readonly description?: string
  readonly payer?: Payer
  readonly on_success?: string
  readonly on_fail?: string
  readonly language?: string
  readonly country?: string
  readonly webhook?: Webhook
}

/** What creating needs. */
export interface CreateParts {
  readonly payments: Collection<Payment>
  readonly runner: EffectRunner<Payment>
  route(service_id: string): Promise<PaymentRoute | undefined>
  /** Whether the account is configured, of this environment, and speaks the route's protocol. */
  hasAccount(account_id: string, environment: Environment, connector: string): boolean
  nextNumericId(): string
}

/**
 * Creates a deposit: stores it, asks the provider, answers how it stands then (P3, E14). Throws what the route and
 * the credential's policy forbid before anything is stored, in the order of E9, and 6009 for a known `c_id`.
 */
export async function createPayment(parts: CreateParts, request: CreateRequest): Promise<Payment> {
  const route = await admit(parts, request)
  const stored = await insertOnce(parts, request, newPayment(parts, request, route))
  try {
    return await parts.runner.drive(stored)
  } catch (error) {
    // It is stored and admitted, so it is answered as it was then (E14); the sweeper goes on with it.
    log.warn({ error, payment_id: stored.payment_id }, 'a payment was left to the sweeper')
    return stored
  }
}

async function insertOnce(
  parts: CreateParts,
  request: CreateRequest,
  payment: Payment,
): Promise<Stored<Payment>> {
  try {
    return await parts.runner.insert(payment)
  } catch (error) {
    throw error instanceof Duplicate ? await alreadyExists(parts.payments, request) : error
  }
}

async function admit(parts: CreateParts, request: CreateRequest): Promise<PaymentRoute> {
  const { merchant_id, environment } = request
  const route = await parts.route(request.service_id)
  if (route?.merchant_id !== merchant_id || route.environment !== environment) throw new PublicError(1004)
  if (!permitsRoute(request.policy, route.service_id, route.currency)) throw new PublicError(3008)
  if (route.direction !== request.direction) throw new PublicError(1008)
  const { provider_accounts } = route
  const configured = provider_accounts.every((account) =>
    parts.hasAccount(account, environment, route.connector),
  )
  if (!route.enabled || !configured || provider_accounts.length === 0 || route.direction === 'out')
    throw new PublicError(1002)
  const { amount } = request
  if (amount < 1n || amount > AMOUNT_MAX || amount < route.minimum_amount)
    throw fieldError(6001, 'params.payment.amount.value')
  if (request.currency !== route.currency) throw fieldError(6002, 'params.payment.amount.currency')
  return route
}

function newPayment(parts: CreateParts, request: CreateRequest, route: PaymentRoute): Payment {
  const { policy: _policy, ...asked } = request
  const at = now()
  const payment_id = uuidv7()
  const h_id = route.numeric_h_id ? parts.nextNumericId() : payment_id
  const [account_id] = route.provider_accounts
  if (account_id === undefined) throw new PublicError(1002)
  const expires_at = new Date(at.getTime() + route.expires_in_seconds * 1_000)
  const payment: Payment = {
    ...asked,
    payment_id,
    h_id,
    ids: h_id === payment_id ? [payment_id] : [payment_id, h_id],
    method: route.method,
    provider_accounts: route.provider_accounts,
    attempt: { number: 1, account_id, created_at: at },
    state: 'created',
    history: [{ state: 'created', at, amount: request.amount }],
    transition: 1,
    created_at: at,
    updated_at: at,
    expires_at,
    effects: [],
  }
  const expiry = effect({ id: `${payment_id}:expire`, kind: 'expire', lane: 'timer', due_at: expires_at }, at)
  const created = eventEffect(payment, 'payment.created', at, undefined)
  return { ...payment, effects: [createEffect(payment), expiry, created] }
}

const READ_TRIES_MAX = 20
const READ_WAIT_MS = 50

/** The 6009 that tells a client whose first answer was lost what it needs to know (E11). */
async function alreadyExists(payments: Collection<Payment>, request: CreateRequest): Promise<PublicError> {
  const { merchant_id, environment, c_id } = request
  const key: { [field in keyof PaymentKey]: string } = { merchant_id, environment, c_id }
  for (let tries = 0; tries < READ_TRIES_MAX; tries++) {
    const existing = await payments.get(key)
    if (existing) return new PublicError(6009, { context: { h_id: existing.h_id, status: existing.state } })
    // The other write is there but not yet acknowledged by a majority, or was rolled back: it will be seen or be gone.
    await sleep(READ_WAIT_MS)
  }
  return new PublicError(2002)
}
