import type { Delivery } from './domain/delivery.ts'

/** The time at which the delivery of the tests was created. */
export const AT = new Date('2026-11-21T10:00:00.000Z')

/** A delivery without attempts. */
export function delivery(changes: Partial<Delivery> = {}): Delivery {
  return {
    delivery_id: 'd-1',
    destination_key: 'endpoint:e-1',
    url: 'https://shop.example.com/callbacks',
    endpoint_id: 'e-1',
    timeout_seconds: 30,
    max_retries: 3,
    retry_delay_seconds: 1,
    merchant_id: '7001',
    environment: 'test',
    event_key: 'p-1:3',
    event: 'payment.completed',
    resource_id: 'p-1',
    status: 'pending',
    try_kind: 'first',
    due_at: AT,
    attempts: [],
    tries: 0,
    created_at: AT,
    kept_until: new Date(AT.getTime() + 1_000_000),
    ...changes,
  }
}
