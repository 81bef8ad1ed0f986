import type { Client } from '@connectrpc/connect'
import { VerificationService } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import { CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { AnomalyKind, AnomalyResolutionKind } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { Choices } from '../parts/random.ts'
import type { ProviderOperation } from '../world/provider/operation.ts'
import type { History } from './history.ts'
import { drawLimits, limitsMessage, type SimulatedMerchant } from './merchants.ts'

/** What the acts of the operator need. */
export interface OperatorDeps {
  readonly clientOf: ClientOf
  readonly choices: Choices
  /** The operations in the provider's books. */
  readonly operations: () => Iterable<ProviderOperation>
  readonly history: Pick<History, 'problems'>
  /** Whether acts may still begin. */
  readonly isOpen: () => boolean
}

/** Old secrets stay valid for longer than a simulation, so that a request which is on its way is not refused. */
const OVERLAP_SECONDS = 30 * 86_400

/** Between two acts. */
const PAUSE_MAX_MS = 1_500

type Payments = Client<typeof PaymentService>

type Act = (deps: Omit<OperatorDeps, 'isOpen'>, merchant: SimulatedMerchant) => Promise<unknown>

/**
 * Changes the registration of a merchant while it makes requests, looks for work that waits for the operator, and checks
 * the ledger. An act that fails is not repeated: it may have happened.
 */
export async function runOperator(deps: OperatorDeps, merchant: SimulatedMerchant): Promise<void> {
  const { choices, isOpen } = deps
  for (;;) {
    await sleep(choices.between(0, PAUSE_MAX_MS))
    if (!isOpen()) return
    await choices
      .weighted(ACTS)(deps, merchant)
      .catch(() => {})
  }
}

/** Each act notes what it may change before it begins, because a failed one may have happened. */
const ACTS: readonly (readonly [weight: number, act: Act])[] = [
  [2, rotateSecret],
  [2, switchCredential],
  [3, changeRoute],
  [2, switchEndpoint],
  [1, rotateEndpointSecret],
  [1, switchEnvironment],
  [2, retryStuckEffects],
  [2, resolveAnomalies],
  [2, changeLimits],
  [2, ({ clientOf }) => clientOf(VerificationService).startVerification({ fromFirstBatch: true })],
]

/** The old secret stays valid, and the merchant goes on using it. */
async function rotateSecret({ clientOf, choices }: Parameters<Act>[0], merchant: SimulatedMerchant) {
  const credential = choices.pick(merchant.credentials)
  const { secret } = await clientOf(CredentialService).rotateSecret({
    applicationId: String(credential.application_id),
    overlapSeconds: OVERLAP_SECONDS,
  })
  credential.secrets.push(secret)
}

async function switchCredential({ clientOf, choices }: Parameters<Act>[0], merchant: SimulatedMerchant) {
  const { application_id } = choices.pick(merchant.credentials)
  const status = choices.pick([CredentialStatus.ACTIVE, CredentialStatus.ACTIVE, CredentialStatus.DISABLED])
  merchant.access_codes.add(3004)
  await clientOf(CredentialService).updateCredential({ applicationId: String(application_id), status })
}

async function changeRoute({ clientOf, choices }: Parameters<Act>[0], merchant: SimulatedMerchant) {
  const route = choices.pick([...merchant.routes, ...merchant.withdrawal_routes])
  const enabled = choices.chance(0.7)
  const minimum_amount = choices.pick([0, 100, 10_000])
  const providerAccounts = choices.pick([
    ['sandbox'],
    ['sandbox', 'sandbox-down'],
    ['sandbox-down', 'sandbox'],
  ])
  route.may_be_closed = true
  route.minimum_amounts.push(minimum_amount)
  await clientOf(RouteService).updateRoute({
    serviceId: String(route.service_id),
    enabled,
    ...(route.connector === 'sandbox' ? { providerAccounts } : {}),
    minimumAmount: BigInt(minimum_amount),
  })
}

async function switchEndpoint({ clientOf, choices }: Parameters<Act>[0], merchant: SimulatedMerchant) {
  if (merchant.endpoints.length === 0) return
  const endpoint = choices.pick(merchant.endpoints)
  endpoint.may_be_closed = true
  await clientOf(EndpointService).updateEndpoint({
    endpointId: endpoint.endpoint_id,
    enabled: choices.chance(0.5),
  })
}

async function rotateEndpointSecret({ clientOf, choices }: Parameters<Act>[0], merchant: SimulatedMerchant) {
  if (merchant.endpoints.length === 0) return
  const endpoint = choices.pick(merchant.endpoints)
  endpoint.has_unknown_secret = true
  const { secret } = await clientOf(EndpointService).rotateEndpointSecret({
    endpointId: endpoint.endpoint_id,
  })
  endpoint.secrets.push(secret)
}

/** Without its environment every credential of the merchant is refused. */
async function switchEnvironment({ clientOf, choices }: Parameters<Act>[0], merchant: SimulatedMerchant) {
  merchant.access_codes.add(3008)
  const environments = choices.pick([[Environment.PRODUCTION], [Environment.TEST]])
  await clientOf(MerchantService).updateMerchant({ merchantId: merchant.merchant_id, environments })
}

async function retryStuckEffects({ clientOf }: Parameters<Act>[0]): Promise<void> {
  const payments = clientOf(PaymentService)
  const { effects } = await payments.listStuckEffects({})
  for (const { paymentId, effectId } of effects) await payments.retryEffect({ paymentId, effectId })
}

async function changeLimits({ clientOf, choices }: Parameters<Act>[0], merchant: SimulatedMerchant) {
  if (merchant.withdrawal_routes.length === 0) return
  const route = choices.pick(merchant.withdrawal_routes)
  const limits = drawLimits(choices)
  route.limits.push(limits)
  await clientOf(RouteService).updateRoute({
    serviceId: String(route.service_id),
    payoutLimits: limitsMessage(limits),
  })
}

/** Decides as the provider's books say, which the operator asks for. What is open there is left to the polls. */
async function resolveAnomalies(deps: Parameters<Act>[0]): Promise<void> {
  const { clientOf, choices, operations } = deps
  const payments = clientOf(PaymentService)
  const { anomalies } = await payments.listAnomalies({ openOnly: true })
  for (const { anomalyId, paymentId, refundId, kind } of anomalies) {
    // It is about an account, and is confirmed when its books are whole again.
    if (kind === AnomalyKind.ACCOUNT_MOVED) continue
    const own = await amountOf(payments, paymentId, refundId)
    if (own) await payAnotherAmount(deps, anomalyId, own)
    if (choices.chance(0.5)) continue
    const of_payment = operationsOf(operations(), paymentId, refundId)
    // A refund that its provider does not have yet may still be on its way there.
    if (refundId !== undefined && of_payment.length === 0) continue
    const resolution = of_payment.some(({ status }) => status === 'success')
      ? AnomalyResolutionKind.PAID
      : of_payment.length > 0 && of_payment.every(({ status }) => status !== 'pending')
        ? AnomalyResolutionKind.NOT_PAID
        : AnomalyResolutionKind.DISMISSED
    const amount = resolution === AnomalyResolutionKind.PAID ? own : undefined
    await payments
      .resolveAnomaly({
        anomalyId,
        resolution,
        operationId: `resolve-${anomalyId}`,
        note: 'simulated',
        ...(amount && { amount }),
      })
      // The payment may have ended meanwhile.
      .catch(() => {})
  }
}

/** What providers have of a payment, or of its refund. */
function operationsOf(
  operations: Iterable<ProviderOperation>,
  paymentId: string,
  refundId: string | undefined,
): readonly ProviderOperation[] {
  return [...operations].filter(({ kind, idempotency_key }) =>
    refundId === undefined
      ? kind !== 'refund' && idempotency_key.startsWith(`${paymentId}:`)
      : idempotency_key === `${paymentId}:refund:${refundId}`,
  )
}

/** The amount of a payment or of its refund; absent while that cannot be read. */
async function amountOf(payments: Payments, paymentId: string, refundId: string | undefined) {
  const { payment } = await payments.getPayment({ paymentId }).catch(() => ({ payment: undefined }))
  return refundId === undefined
    ? payment?.amount
    : payment?.operations.find(({ operationId }) => operationId === refundId)?.amount
}

/** A careless decision: that another amount was paid. It is never accepted. */
async function payAnotherAmount(
  { clientOf, choices, history }: Parameters<Act>[0],
  anomalyId: string,
  { minor, currency }: Money,
): Promise<void> {
  const amount = choices.pick([undefined, { minor: minor - 1n, currency }, { minor: minor + 1n, currency }])
  const careless = { anomalyId, resolution: AnomalyResolutionKind.PAID, operationId: `careless-${anomalyId}` }
  await clientOf(PaymentService)
    .resolveAnomaly({ ...careless, note: 'simulated', ...(amount && { amount }) })
    .then(
      () => history.problems.push(`the anomaly ${anomalyId} was resolved with another amount`),
      () => {},
    )
}

/**
 * Ends what its provider has dropped, and what it never had: a provider without idempotency keys leaves that to the operator (P4), and so
 * does a hold that a backup did not know yet (P19). Nothing is on its way any more, so that none can arrive later.
 */
export async function endMissing(
  clientOf: ClientOf,
  operations: readonly ProviderOperation[],
): Promise<void> {
  const payments = clientOf(PaymentService)
  const { anomalies } = await payments.listAnomalies({ openOnly: true })
  for (const { anomalyId, paymentId, refundId, kind } of anomalies) {
    if (kind !== AnomalyKind.NOT_FOUND_AT_PROVIDER) continue
    const known = operationsOf(operations, paymentId, refundId)
    const is_dropped =
      known.length > 0 && known.every(({ status }) => status !== 'success' && status !== 'pending')
    if (!is_dropped && known.length > 0) continue
    const operationId = `end-${anomalyId}`
    await payments
      .resolveAnomaly({
        anomalyId,
        resolution: AnomalyResolutionKind.NOT_PAID,
        operationId,
        note: 'simulated',
      })
      // It may have ended meanwhile.
      .catch(() => {})
  }
}

/**
 * Opens everything again that the operator may have closed, and gives the merchant its newest secrets. Faults have
 * stopped, so nothing may fail.
 */
export async function reopen(clientOf: ClientOf, merchant: SimulatedMerchant): Promise<void> {
  const { merchant_id: merchantId, environment, credentials, routes, withdrawal_routes, endpoints } = merchant
  await clientOf(MerchantService).updateMerchant({ merchantId, environments: [environment] })
  for (const credential of credentials) {
    const applicationId = String(credential.application_id)
    await clientOf(CredentialService).updateCredential({ applicationId, status: CredentialStatus.ACTIVE })
    credential.secret = credential.secrets.at(-1) ?? credential.secret
  }
  for (const { service_id } of [...routes, ...withdrawal_routes]) {
    await clientOf(RouteService).updateRoute({ serviceId: String(service_id), enabled: true })
  }
  for (const { endpoint_id: endpointId } of endpoints) {
    await clientOf(EndpointService).updateEndpoint({ endpointId, enabled: true })
  }
}
