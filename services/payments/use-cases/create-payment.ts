import type { Direction } from '#lib/contract/direction.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { AMOUNT_MAX } from '#lib/contract/money.ts'
import { type Policy, permitsRoute } from '#lib/contract/policy.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { now } from '#lib/platform/time.ts'
import type { AccountSelection } from '../circuit-breaker/account-selection.ts'
import type { Payer, Payment, Webhook } from '../domain/payment.ts'
import { createAtProviderEffect, expirePaymentEffect } from '../domain/payment-effects.ts'
import { newEventEffect } from '../domain/payment-event.ts'

/** The fields of a route that creating a payment reads. */
export interface PaymentRoute {
  readonly service_id: string
  readonly merchant_id: string
  readonly environment: Environment
  readonly direction: Direction
  readonly method: string
  readonly currency: string
  readonly connector: string
  readonly provider_accounts: readonly string[]
  readonly numeric_h_id: boolean
  readonly expires_in_seconds: number
  readonly minimum_amount: bigint
  readonly enabled: boolean
}

/** A request for a payment. The gateway has validated its form. */
export interface CreatePaymentRequest {
  readonly merchant_id: string
  readonly environment: Environment
  readonly policy: Policy
  readonly service_id: string
  readonly direction: Direction
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

/** What creating a payment needs. */
export interface CreatePaymentDeps extends Pick<AccountSelection, 'hasAccount' | 'admitAccounts'> {
  readonly runner: EffectRunner<Payment>
  findRoute(service_id: string): Promise<PaymentRoute | undefined>
  findByCId(payment: CreatePaymentRequest): Promise<Payment | undefined>
  nextNumericId(): string
}

/**
 * Creates a deposit: stores it, sends it to the provider, and returns it with the status that it then has (P3, E14).
 * Refusals by the route and the credential's policy come before anything is stored, in the order of E9. Throws 6009 for
 * a `c_id` that was used before.
 */
export async function createPayment(
  deps: CreatePaymentDeps,
  request: CreatePaymentRequest,
): Promise<Payment> {
  const route = await findPermittedRoute(deps, request)
  const { runner } = deps
  const { stored, is_new } = await runner.insertOrGet(await newPayment(deps, request, route))
  if (!is_new) throw duplicateError(request.policy, stored)
  try {
    // This runs `createAtProviderEffect`, which calls the provider.
    return await runner.runEffects(stored)
  } catch (error) {
    // The payment is stored, so it is returned as it was stored (E14). The sweeper runs its effects later.
    log.warn(
      { error, payment_id: stored.payment_id },
      'effects of the payment did not finish; the sweeper runs them again',
    )
    return stored
  }
}

/** Finds the route, and throws the first refusal in the order of E9. */
async function findPermittedRoute(
  deps: CreatePaymentDeps,
  request: CreatePaymentRequest,
): Promise<PaymentRoute> {
  const { merchant_id, environment } = request
  const route = await deps.findRoute(request.service_id)
  if (route?.merchant_id !== merchant_id || route.environment !== environment) throw new PublicError(1004)
  if (!permitsRoute(request.policy, route.service_id, route.currency)) throw new PublicError(3008)
  if (route.direction !== request.direction) throw new PublicError(1008)
  const { provider_accounts } = route
  const are_configured = provider_accounts.every((account) =>
    deps.hasAccount(account, environment, route.connector, route.direction),
  )
  if (!route.enabled || !are_configured || provider_accounts.length === 0 || route.direction === 'out')
    throw new PublicError(1002)
  const { amount } = request
  if (amount < 1n || amount > AMOUNT_MAX || amount < route.minimum_amount)
    throw fieldError(6001, 'params.payment.amount.value')
  if (request.currency !== route.currency) throw fieldError(6002, 'params.payment.amount.currency')
  return route
}

/** Makes the payment. Throws 7002, after the check for a duplicate (E9), when all accounts are known to be down. */
async function newPayment(
  deps: CreatePaymentDeps,
  request: CreatePaymentRequest,
  route: PaymentRoute,
): Promise<Payment> {
  const provider_accounts = deps.admitAccounts(route.provider_accounts, request.environment)
  const [account_id] = provider_accounts
  if (account_id === undefined) {
    const duplicate = await deps.findByCId(request)
    throw duplicate ? duplicateError(request.policy, duplicate) : new PublicError(7002)
  }
  const { policy: _policy, ...fields } = request
  const at = now()
  const payment_id = uuidv7()
  const h_id = route.numeric_h_id ? deps.nextNumericId() : payment_id
  const expires_at = new Date(at.getTime() + route.expires_in_seconds * 1_000)
  const payment: Payment = {
    ...fields,
    payment_id,
    h_id,
    ids: h_id === payment_id ? [payment_id] : [payment_id, h_id],
    method: route.method,
    provider_accounts,
    attempt: { number: 1, account_id, created_at: at },
    status: 'created',
    history: [{ status: 'created', at, amount: request.amount }],
    transition_number: 1,
    created_at: at,
    updated_at: at,
    expires_at,
    effects: [],
  }
  const effects = [
    createAtProviderEffect.newEffect(payment, {}, { at }),
    expirePaymentEffect.newEffect(payment, {}, { at, due_at: expires_at }),
    newEventEffect(payment, 'payment.created', { at }),
  ]
  return { ...payment, effects }
}

/**
 * The 6009 for a used `c_id`, with the `h_id` and the status of the payment, for a client that lost its first response. A
 * credential that may not read the payment, by its stored route and currency, gets the 6009 without them (E11).
 */
function duplicateError(policy: Policy, { h_id, status, service_id, currency }: Payment): PublicError {
  const may_read = permitsRoute(policy, service_id, currency)
  return new PublicError(6009, may_read ? { context: { h_id, status } } : {})
}
