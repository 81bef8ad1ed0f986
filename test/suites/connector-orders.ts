import { clock } from '#lib/base/time.ts'
import type { ProviderOrder } from '../../services/payments/connectors/connector.ts'
import type { OperationKind } from '../../services/payments/domain/call-result.ts'

/** What a test chooses about an order. */
export interface OrderChoice {
  readonly minor: bigint
  readonly currency?: string
  readonly method?: string
  readonly callback_url?: string
  /** The deposit that a refund pays back. */
  readonly deposit?: ProviderOrder
}

let orders = 0

/** Makes an order with a new key. */
export function orderOf(kind: OperationKind, choice: OrderChoice): ProviderOrder {
  const { minor, currency = 'INR', method = 'imps', callback_url = 'http://127.0.0.1:9/callbacks' } = choice
  orders += 1
  const common = {
    idempotency_key: `0190a0b0-0000-7000-8000-${String(orders).padStart(12, '0')}:1`,
    amount: { minor, currency },
    method,
    callback_url,
  }
  switch (kind) {
    case 'deposit':
      return {
        ...common,
        kind,
        expires_at: new Date(clock.now_ms() + 3_600_000),
        payer: { email: 'asha@example.com', first_name: 'Asha', customer_account_id: 'c&1=é' },
      }
    case 'withdrawal':
      return {
        ...common,
        kind,
        beneficiary: {
          account_id: '123456789',
          ifsc: 'SBIN0000001',
          first_name: 'Asha',
          last_name: 'Rao & Co',
        },
      }
    case 'refund':
      return { ...common, kind, deposit_idempotency_key: choice.deposit?.idempotency_key ?? 'unknown' }
  }
}
