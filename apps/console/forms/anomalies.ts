import { type Anomaly, AnomalyKind, AnomalyResolutionKind } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { addressOf } from '../values/addresses.ts'
import { type Act, act } from './act.ts'
import type { Call } from './call.ts'

/** A decision about an anomaly. For PAID the amount is the one of the payment or refund, which the server checks. */
function resolve(
  name: string,
  resolution: AnomalyResolutionKind,
  right: string,
  effects: readonly string[],
): Act<Anomaly> {
  return act({
    name,
    method: PaymentService.method.resolveAnomaly,
    rights: [right],
    // Only a dismissal is about no payment.
    isOffered: ({ resolution: decided, paymentId }: Anomaly) =>
      decided === undefined && (paymentId !== '' || resolution === AnomalyResolutionKind.DISMISSED),
    effects: ({ description }) => [description, ...effects],
    request: ({ anomalyId }) => ({ anomalyId, resolution }),
    async run({ item, request, reason, call }) {
      const is_paid = resolution === AnomalyResolutionKind.PAID
      const amount = is_paid ? await amountOf(item, call) : undefined
      await call(PaymentService.method.resolveAnomaly, {
        ...request,
        note: reason,
        ...(amount && { amount }),
      })
      return {}
    },
  })
}

async function amountOf({ paymentId, refundId }: Anomaly, call: Call) {
  const { payment } = await call(PaymentService.method.getPayment, { paymentId })
  const operation = payment?.operations.find(({ operationId }) => operationId === refundId)
  return refundId === undefined ? payment?.amount : operation?.amount
}

/** The decisions about an anomaly. */
export const anomaly_acts: readonly Act<Anomaly>[] = [
  act({
    name: 'It is the same account',
    method: ProviderAccountService.method.confirmAccountMoved,
    isOffered: ({ kind, resolution, accountId }: Anomaly) =>
      kind === AnomalyKind.ACCOUNT_MOVED && resolution === undefined && accountId !== undefined,
    effects: ({ description, accountId }) => [
      description,
      `Account ${accountId}, as it is configured now, is asked about everything that was sent to it before. What is open is sent again there, and refunds go there.`,
      'If it does not know those operations, they can be paid twice. Confirm it when all processes have the new configuration.',
    ],
    request: ({ accountId }) => ({ accountId: accountId ?? '' }),
    confirm: ({ accountId }) => accountId ?? '',
    outcome: ({ account }) => ({
      sentences: [`Account ${account?.accountId} is confirmed, and the anomaly is resolved.`],
      address: addressOf('provider_account', account?.accountId ?? ''),
    }),
  }),
  resolve('Dismiss', AnomalyResolutionKind.DISMISSED, 'support', ['Nothing is left to do. No money moves.']),
  resolve('It was paid', AnomalyResolutionKind.PAID, 'money', [
    'The open payment or refund ends as a success with its own amount, and the ledger books it. It is final.',
    'Look at the account of the provider first.',
  ]),
  resolve('It was not paid', AnomalyResolutionKind.NOT_PAID, 'money', [
    'The open payment or refund ends as an error, and held money is given back. It is final.',
    'Look at the account of the provider first.',
  ]),
]
