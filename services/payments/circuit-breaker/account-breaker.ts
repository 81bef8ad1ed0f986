import { type Log, log } from '#lib/telemetry/log.ts'
import { counter, gauge } from '#lib/telemetry/metrics.ts'
import type { ProviderAccount } from '../connectors/provider-account.ts'
import { type CircuitBreaker, type CircuitChange, createCircuitBreaker } from './circuit-breaker.ts'

// The accounts are those of the configuration, so the number of label values is bounded.
const circuit_open = gauge(
  'multihub_provider_circuit_open',
  'Whether the circuit breaker of a provider account is open in this process: 1 or 0.',
  ['provider_account'],
)
const openings_total = counter(
  'multihub_provider_circuit_openings_total',
  'How often the circuit breaker of a provider account opened, failed probes included.',
  ['provider_account'],
)
const payments_log = log.child('payments')

/**
 * Makes the breaker of an account, which logs its changes and counts them. The built-in accounts of the sandbox get one
 * that never opens: merchants choose their failures by the amount, and must see the same result each time.
 */
export function createAccountBreaker(
  { account_id, is_simulated }: ProviderAccount,
  breaker_log: Log = payments_log,
): CircuitBreaker {
  const labels = { provider_account: account_id }
  circuit_open.set(labels, 0)
  const breaker = createCircuitBreaker((change) => {
    circuit_open.set(labels, change.state === 'open' ? 1 : 0)
    if (change.state === 'open') openings_total.increment(labels)
    logChange(breaker_log, account_id, change)
  })
  return is_simulated ? { ...breaker, observe: (call) => call() } : breaker
}

function logChange(
  breaker_log: Log,
  provider_account: string,
  { state, failures, reason, probe_after_ms }: CircuitChange,
): void {
  const fields = { provider_account, state }
  if (state === 'closed')
    breaker_log.info(fields, 'the provider account works again; its circuit breaker closed')
  else
    breaker_log.error(
      { ...fields, reason, count: failures, delay_ms: probe_after_ms },
      'the provider account keeps failing; its circuit breaker is open and new payments skip it',
    )
}
