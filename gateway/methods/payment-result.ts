import { type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import {
  AMOUNT_VIEW,
  CREATED_PAYMENT_VIEW,
  OPERATION_VIEW,
  PAYMENT_VIEW,
} from '#lib/contract/public-payment.ts'
import { type JsonSchema, record, type View } from '#lib/contract/view.ts'
import type { PaymentIds } from '../http/exchange.ts'
import type { Call } from './method.ts'

/** What a method that shows a payment returns: the payment and its primary operation (spec: Payment object). */
export const PAYMENT_RESULT = resultOf(PAYMENT_VIEW)

/** The result of a method that creates a payment. */
export const CREATED_PAYMENT_RESULT = resultOf(CREATED_PAYMENT_VIEW)

function resultOf(view: View<Payment>) {
  const components: Readonly<Record<string, JsonSchema>> = {
    ...AMOUNT_VIEW.components,
    ...OPERATION_VIEW.components,
    ...PAYMENT_VIEW.components,
    ...CREATED_PAYMENT_VIEW.components,
  }
  return {
    schema: record({ payment: view.schema, operation: OPERATION_VIEW.schema }),
    components,
    /** Makes the result, and names the payment to the log line of the exchange. */
    render(payment: Payment | undefined, call: Call): object {
      if (payment !== undefined) call.isAbout(idsOf(payment))
      const [primary] = payment?.operations ?? []
      return { payment: view.render(payment), operation: OPERATION_VIEW.render(primary) }
    },
  }
}

const FAILURES: ReadonlySet<PaymentStatus> = new Set([
  PaymentStatus.ERROR,
  PaymentStatus.CANCELED,
  PaymentStatus.DECLINED,
])

function idsOf({ paymentId: payment_id, cId: c_id, hId: h_id, status }: Payment): PaymentIds {
  return { payment_id, c_id, h_id, has_failed: FAILURES.has(status) }
}
