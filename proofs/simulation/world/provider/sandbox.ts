import type { Machine } from '../../parts/simulated-process.ts'
import type { Database } from '../../parts/store/database.ts'
import type { ProviderOperation } from './operation.ts'
import type { Provider } from './provider.ts'

/** An operation as the sandbox stores it. */
interface SandboxOperation {
  readonly kind: 'deposit' | 'withdrawal' | 'refund'
  readonly account_id: string
  readonly idempotency_key: string
  readonly deposit_idempotency_key?: string
  readonly provider_id: string
  readonly amount: bigint
  readonly currency: string
  readonly method: string
  readonly callback_url: string
  readonly completes_at?: Date
  readonly result: { readonly status: 'success' | 'declined' | 'canceled' }
  readonly effects: readonly object[]
}

/** The role `sandbox` as the provider of a simulation: its own records say what was paid. */
export function createSandboxProvider(machine: Machine, database: Database): Provider {
  const stored = (): readonly SandboxOperation[] =>
    // The sandbox stored them in this form.
    [...(database.named('operations')?.all() ?? [])] as unknown as SandboxOperation[]
  return {
    problems: [],
    operations: () => stored().map((operation) => asOperation(operation, machine.now_ms())),
    isIdle: () => stored().every(({ effects }) => effects.length === 0),
  }
}

function asOperation(
  { completes_at, result, amount, ...rest }: SandboxOperation,
  now_ms: number,
): ProviderOperation {
  const is_complete = completes_at !== undefined && completes_at.getTime() <= now_ms
  return {
    ...rest,
    amount: Number(amount),
    expires_ms: Number.POSITIVE_INFINITY,
    created_ms: 0,
    status: is_complete ? result.status : 'pending',
    is_success_acknowledged: false,
  }
}
