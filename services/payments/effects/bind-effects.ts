import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Publisher } from '#lib/patterns/effects/publisher.ts'
import type { StoredPayment } from '../domain/payment.ts'
import type { PaymentsStore } from '../store/payments-store.ts'
import { bindCaptureHold } from './capture-hold.ts'
import { bindCreateAtProvider } from './create-at-provider.ts'
import { bindCreateRefund } from './create-refund.ts'
import { bindCreditLedger } from './credit-ledger.ts'
import { bindDiscardRefused } from './discard-refused.ts'
import { bindExpirePayment } from './expire-payment.ts'
import { bindHoldFunds, type HoldFundsDeps } from './hold-funds.ts'
import { bindHoldRefund } from './hold-refund.ts'
import type { LedgerClient } from './ledger-call.ts'
import { bindLookUpLate, bindLookUpRefundLate } from './look-up-late.ts'
import { bindPollProvider } from './poll-provider.ts'
import { bindPollRefund } from './poll-refund.ts'
import { bindDebitChargeback, bindReturnChargeback } from './post-chargeback.ts'
import type { ProviderCallDeps } from './provider-call.ts'
import { bindPublishEvent } from './publish-event.ts'
import { bindRecordAnomaly, bindRecordRefundAnomaly } from './record-anomaly.ts'
import { bindReleaseHold } from './release-hold.ts'
import { bindRepeatCreate } from './repeat-create.ts'
import { bindRepeatRefund } from './repeat-refund.ts'
import { bindReportOpen, bindReportOpenRefund } from './report-open.ts'
import { bindReportChargeback, bindReportRefund, type SupportClients } from './report-refund.ts'
import { bindCaptureRefund, bindReleaseRefund } from './resolve-refund-hold.ts'

/** What the effects of payments call. */
export interface PaymentEffectDeps extends HoldFundsDeps {
  readonly store: Pick<PaymentsStore, 'payments' | 'withdrawal_refusals' | 'anomalies'>
  readonly provider_calls: ProviderCallDeps
  readonly publisher: Publisher
  readonly support: SupportClients
}

/** Binds every kind of effect that a payment can have. */
export function bindEffects({
  store,
  provider_calls,
  publisher,
  ledger,
  findRoute,
  support,
}: PaymentEffectDeps): readonly BoundEffect<StoredPayment>[] {
  return [
    bindCreateAtProvider(provider_calls),
    bindPollProvider(provider_calls),
    bindRepeatCreate(provider_calls),
    bindExpirePayment(provider_calls),
    bindLookUpLate(provider_calls),
    bindReportOpen(),
    bindHoldFunds({ ledger, findRoute }),
    bindCaptureHold(ledger),
    bindReleaseHold(ledger),
    bindDiscardRefused(store),
    bindCreditLedger(ledger),
    bindPublishEvent(publisher),
    bindRecordAnomaly(store.anomalies),
    bindRecordRefundAnomaly(store.anomalies),
    ...bindRefundEffects(provider_calls, ledger, support),
  ]
}

/** Binds every kind of effect of refunds and chargebacks. */
function bindRefundEffects(
  provider_calls: ProviderCallDeps,
  ledger: LedgerClient,
  support: SupportClients,
): readonly BoundEffect<StoredPayment>[] {
  return [
    bindHoldRefund(ledger),
    bindCaptureRefund(ledger),
    bindReleaseRefund(ledger),
    bindCreateRefund(provider_calls),
    bindPollRefund(provider_calls),
    bindRepeatRefund(provider_calls),
    bindLookUpRefundLate(provider_calls),
    bindReportOpenRefund(),
    bindReportRefund(support),
    bindDebitChargeback(ledger),
    bindReturnChargeback(ledger),
    bindReportChargeback(support),
  ]
}
