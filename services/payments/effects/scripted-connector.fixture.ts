import { Secret } from '#lib/base/crypto/secret.ts'
import { ALL_METHODS } from '#lib/contract/payment-methods.ts'
import { createCircuitBreaker } from '../connectors/circuit-breaker.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import type { Connector, ProviderOrder } from '../connectors/connector.ts'
import { newAccount } from '../connectors/provider-account.ts'
import type { CallResult } from '../domain/call-result.ts'
import type { Payment } from '../domain/payment.ts'
import { ALL_ENABLED, FINGERPRINT } from '../payment.fixture.ts'
import type { ProviderCallDeps } from './provider-call.ts'

/** A create that a scripted connector received. */
export interface ReceivedCreate {
  readonly account_id: string
  readonly idempotency_key: string
  readonly timeout_ms: number
  readonly earlier_result_unknown: boolean
  /** Of a refund only. */
  readonly deposit_idempotency_key?: string
}

/** A connector whose results a test decides. */
export interface ScriptedConnector {
  readonly creates: readonly ReceivedCreate[]
  /** The dependencies of an effect that calls this connector. */
  deps(changes?: Partial<ProviderCallDeps>): ProviderCallDeps
}

/**
 * Makes a connector that gives each create the result of `resultOf`. Lookups find nothing unless `changes`, or `changesOf`
 * for one account, has one.
 */
export function scriptedConnector(
  resultOf: (account_id: string, order: ProviderOrder) => Promise<CallResult> | CallResult,
  changes: Partial<Connector> = {},
  changesOf: (account_id: string) => Partial<Connector> = () => ({}),
): ScriptedConnector {
  const creates: ReceivedCreate[] = []
  const connect = (account_id: string): Connector => ({
    operations: ['deposit', 'withdrawal', 'refund'],
    methods: ALL_METHODS,
    lookups_max: 1,
    sends_callbacks: true,
    idempotency_window_ms: 0,
    async create(order, timeout_ms) {
      const { idempotency_key, earlier_result_unknown = false } = order
      const deposit =
        order.kind === 'refund' ? { deposit_idempotency_key: order.deposit_idempotency_key } : {}
      creates.push({ account_id, idempotency_key, timeout_ms, earlier_result_unknown, ...deposit })
      return resultOf(account_id, order)
    },
    lookUp: async () => ({ kind: 'not_found' }),
    parseCallback: () => undefined,
    ...changes,
    ...changesOf(account_id),
  })
  const accountOf = ({
    attempt: { account_id },
    environment,
  }: Pick<Payment, 'attempt' | 'environment'>): ConnectedAccount => ({
    fingerprint: FINGERPRINT,
    account: newAccount(environment, {
      account_id,
      connector: 'http',
      base_url: 'https://127.0.0.1:1',
      credentials: { key: new Secret('an unused key') },
      settings: {},
    }),
    connector: connect(account_id),
    breaker: createCircuitBreaker(() => {}),
    schedule: { first_ms: 60_000, max_ms: 300_000 },
  })
  return {
    creates,
    deps: (deps_changes = {}) => ({
      accountOf,
      fingerprintOf: () => FINGERPRINT,
      isMoved: async () => false,
      account_states: ALL_ENABLED,
      scheduleOf: (payment) => accountOf(payment).schedule,
      sendsCallbacks: (payment) => accountOf(payment).connector.sends_callbacks,
      providerCallbackUrl: () => 'http://127.0.0.1:1/callbacks',
      create_timeout_ms: 30_000,
      stopping: new AbortController().signal,
      mayAct: () => true,
      ...deps_changes,
    }),
  }
}
