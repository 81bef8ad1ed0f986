import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import { createRpc } from '#lib/rpc/rpc.ts'
import { openStore } from '#lib/store/open.ts'
import type { MakeAttempt } from '../../services/notifier/delivery/make-attempt.ts'
import { openNotifier, type TestNotifier } from '../../services/notifier/notifier.fixture.ts'
import { createDeliveryRpc } from '../../services/notifier/rpc/delivery-service.ts'
import { keyOfPayment } from '../../services/payments/store/payments.ts'
import { openPaymentsStore, type PaymentsStore } from '../../services/payments/store/payments-store.ts'
import { resendCallback } from '../../services/payments/use-cases/notify-payment.ts'
import { trustedClock } from '../support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import { rpcConfig } from '../support/rpc.ts'
import { lastingRun } from '../support/runs.ts'

/** The points of a resend at which a process can be killed, in their order. */
export const CRASH_POINTS = ['before queueing', 'after queueing', 'after the result'] as const

/** Payments and the notifier over one directory, joined by RPC. */
export interface ResendProcess {
  readonly payments: PaymentsStore
  readonly notifier: TestNotifier
  /** Resends the callback of the payment of these tests; returns the ids of its deliveries. */
  resend(operation_id: string): Promise<readonly string[]>
  close(): Promise<void>
}

/**
 * Opens both over a directory. `onPoint` is called at each crash point that a resend reaches. `makeAttempt` takes the
 * place of the requests.
 */
export async function openResend(
  directory: string,
  onPoint: (point: (typeof CRASH_POINTS)[number]) => void = () => {},
  makeAttempt?: MakeAttempt,
): Promise<ResendProcess> {
  const store = await openStore({ database: 'payments', directory, timeout_ms: HANG_LIMIT_MS })
  const payments = await openPaymentsStore(store, testKeys())
  const notifier = await openNotifier(directory, makeAttempt ? { wrapAttempt: () => makeAttempt } : {})
  const rpc = await createRpc(rpcConfig())
  rpc.add([createDeliveryRpc(notifier)])
  const client = rpc.clientsOf('payments')(DeliveryService)
  const deps = {
    payments: payments.payments,
    runner: createEffectRunner({
      name: 'payments',
      collection: payments.payments,
      keyOf: keyOfPayment,
      effects: [],
      clock_guard: trustedClock,
      runs: lastingRun,
    }),
    idempotency: createIdempotency(payments.idempotency_records, trustedClock),
    notifier: {
      async receiveEvent(...call: Parameters<typeof client.receiveEvent>) {
        onPoint('before queueing')
        const queued = await client.receiveEvent(...call)
        onPoint('after queueing')
        return queued
      },
    },
  }
  const request = {
    merchant_id: '7001',
    environment: 'test',
    policy: { service_ids: [], currencies: [] },
    c_id: 'order-1',
    payload_hash: 'payload-1',
  } as const
  return {
    payments,
    notifier,
    async resend(operation_id) {
      const { deliveryIds } = await resendCallback(deps, { ...request, operation_id })
      onPoint('after the result')
      return deliveryIds
    },
    async close() {
      await notifier.close()
      rpc.close()
      await store.close()
    },
  }
}
