import type { Environment } from '#lib/contract/environment.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { type Policy, permitsRoute } from '#lib/contract/policy.ts'
import { pageSize, pageToken, positionOf } from '#lib/patterns/paging/page-token.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import type { Payment, PaymentState } from '../domain/payment.ts'
import type { Anomaly } from '../effects/record-anomaly.ts'

/** A merchant's look-up by its own identifiers. */
export interface LookUp {
  readonly merchant_id: string
  readonly environment: Environment
  readonly policy: Policy
  readonly c_id?: string
  readonly h_id?: string
}

/** The payment that both identifiers name (P16). 6010 when there is none, 3008 when the policy forbids its route. */
export async function lookUpPayment(payments: Collection<Payment>, request: LookUp): Promise<Payment> {
  const { merchant_id, environment, c_id, h_id } = request
  if (c_id === undefined && h_id === undefined) throw fieldError(1005, 'params.payment.identifiers')
  const payment =
    c_id === undefined
      ? (await payments.find('by_h_id', { equals: [merchant_id, environment, h_id ?? ''] }, { limit: 1 }))[0]
      : await payments.get({ merchant_id, environment, c_id })
  if (!payment || (h_id !== undefined && payment.h_id !== h_id)) throw new PublicError(6010)
  if (!permitsRoute(request.policy, payment.service_id, payment.currency)) throw new PublicError(3008)
  return payment
}

/** Any payment by its id inside or its public one, for the operator; 6010 when there is none. */
export async function getPayment(payments: Collection<Payment>, id: string): Promise<Payment> {
  const [payment] = await payments.find('by_id', { equals: [id] }, { limit: 1 })
  if (!payment) throw new PublicError(6010)
  return payment
}

/** Which payments of a merchant to list; no environment means both, no states all. */
export interface PaymentFilter {
  readonly merchant_id: string
  readonly environment?: Environment
  readonly states: readonly PaymentState[]
  readonly created_from?: Date
  readonly created_to?: Date
}

const LOOKED_AT_MAX = 2_000
const READ_SIZE = 200
const PAYMENT_POSITION = { created_at: 'instant', environment: 'text', c_id: 'text' } as const

/** A page of a merchant's payments, newest first. Only an empty token ends the list; a page before may be short. */
export async function listPayments(
  payments: Collection<Payment>,
  filter: PaymentFilter,
  asked_size: number,
  token: string,
): Promise<{ payments: readonly Payment[]; next_page_token: string }> {
  const size = pageSize(asked_size)
  const { merchant_id, created_from, created_to } = filter
  const range = {
    equals: [merchant_id],
    ...(created_from ? { from: created_from } : {}),
    ...(created_to ? { to: created_to } : {}),
  }
  const found: Payment[] = []
  let after = positionOf(token, { merchant_id }, PAYMENT_POSITION)
  for (let looked_at = 0; looked_at < LOOKED_AT_MAX; looked_at += READ_SIZE) {
    const page = await payments.find('by_created', range, {
      limit: READ_SIZE,
      reverse: true,
      ...(after ? { after } : {}),
    })
    for (const payment of page) {
      const { created_at, c_id } = payment
      after = { merchant_id, environment: payment.environment, created_at, c_id }
      if (matches(payment, filter)) found.push(payment)
      if (found.length === size) return { payments: found, next_page_token: pageToken(after) }
    }
    if (page.length < READ_SIZE) return { payments: found, next_page_token: '' }
  }
  return { payments: found, next_page_token: after ? pageToken(after) : '' }
}

function matches(payment: Payment, { environment, states }: PaymentFilter): boolean {
  const listed = environment === undefined || payment.environment === environment
  return listed && (states.length === 0 || states.includes(payment.state))
}

const ANOMALY_POSITION = { created_at: 'instant', merchant_id: 'text', anomaly_id: 'text' } as const

/** A page of anomalies of all merchants, newest first. */
export async function listAnomalies(
  anomalies: Collection<Anomaly>,
  asked_size: number,
  token: string,
): Promise<{ anomalies: readonly Anomaly[]; next_page_token: string }> {
  const limit = pageSize(asked_size)
  const after = positionOf(token, {}, ANOMALY_POSITION)
  const page = await anomalies.find('by_created', {}, { limit, reverse: true, ...(after ? { after } : {}) })
  const last = page.length === limit ? page.at(-1) : undefined
  if (!last) return { anomalies: page, next_page_token: '' }
  const { created_at, merchant_id, anomaly_id } = last
  return { anomalies: page, next_page_token: pageToken({ created_at, merchant_id, anomaly_id }) }
}
