import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { Collection } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { ProviderReport } from '../connectors/connector.ts'
import type { Anomaly } from '../domain/anomaly.ts'
import { recordAnomaly } from '../store/anomalies.ts'

/** A verified report that fits no payment of the account that sent it. */
export interface UnmatchedReport {
  readonly account_id: string
  readonly report: ProviderReport
  /** The payment that the callback's address names, which may not exist. */
  readonly merchant_id: string
  readonly environment: Environment
  readonly h_id: string
}

/**
 * Stores the report as an anomaly, so that the operator learns of money that moved at a provider without a payment here. A
 * repeated report is the same anomaly. Throws when the store is unavailable.
 */
export async function recordUnmatchedReport(
  anomalies: Collection<Anomaly>,
  { account_id, report, merchant_id, environment, h_id }: UnmatchedReport,
): Promise<void> {
  const { kind, idempotency_key, result } = report
  const amount = result.amount ? ` of ${result.amount.minor} ${result.amount.currency}` : ''
  const reported = `provider account ${account_id} reported ${result.kind}${amount} for the ${kind} ${idempotency_key}`
  const anomaly_id = sha256Hex(`${merchant_id}:${environment}:${h_id}:${reported}`).slice(0, 32)
  const { is_new } = await recordAnomaly(anomalies, {
    merchant_id,
    anomaly_id,
    environment,
    payment_id: h_id,
    kind: 'unmatched_report',
    description: `${reported}, which was not sent to it`,
    created_at: now(),
  })
  if (is_new)
    log.error(
      { anomaly_id, merchant_id, provider_account: account_id, kind: 'unmatched_report' },
      'a provider reported an operation that was not sent to it; check the anomaly',
    )
}
