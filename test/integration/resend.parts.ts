import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import { createRpc } from '#lib/platform/rpc/rpc.ts'
import { openStore } from '#lib/platform/store/open.ts'
import { type NotifierParts, openNotifier } from '../../services/notifier/notifier-parts.fixture.ts'
import { deliveryRpc } from '../../services/notifier/rpc/delivery-service.ts'
import { openPaymentsStore, type PaymentsStore } from '../../services/payments/store/payments-store.ts'
import { resendCallback } from '../../services/payments/use-cases/resend-callback.ts'
import { rpcConfig } from '../support/rpc.ts'

/** The points at which a process of the tests can die, in their order. */
export const CRASH_POINTS = ['asked', 'queued', 'answered'] as const

/** What resending takes, over a directory: the parts of payments and of the notifier, and RPC between them. */
export interface ResendParts {
  readonly payments: PaymentsStore
  readonly notifier: NotifierParts
  /** Resends the callback of the payment of these tests; answers the ids of its deliveries. */
  resend(operation_id: string): Promise<readonly string[]>
  close(): Promise<void>
}

/** Opens them; nothing is delivered until the notifier's runner is started. `at` is told how far a resend came. */
export async function openResend(
  directory: string,
  at: (point: (typeof CRASH_POINTS)[number]) => void = () => {},
): Promise<ResendParts> {
  const opened = await openStore({ database: 'payments', directory })
  const payments = await openPaymentsStore(opened)
  const notifier = await openNotifier(directory)
  const rpc = await createRpc(rpcConfig())
  rpc.add([deliveryRpc(notifier)])
  const client = rpc.clientsOf('payments')(DeliveryService)
  const parts = {
    payments: payments.payments,
    idempotency: createIdempotency(payments.operations),
    notifier: {
      async queueEvent(...asked: Parameters<typeof client.queueEvent>) {
        at('asked')
        const queued = await client.queueEvent(...asked)
        at('queued')
        return queued
      },
    },
  }
  const request = {
    merchant_id: '7001',
    environment: 'test',
    policy: { service_ids: [], currencies: [] },
    c_id: 'order-1',
    payload_hash: 'the only payload',
  } as const
  return {
    payments,
    notifier,
    async resend(operation_id) {
      const { deliveryIds } = await resendCallback(parts, { ...request, operation_id })
      at('answered')
      return deliveryIds
    },
    async close() {
      await notifier.close()
      rpc.close()
      await opened.close()
    },
  }
}
