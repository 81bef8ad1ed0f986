import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { type Publisher, publishEventHandler } from '#lib/patterns/effects/publisher.ts'
import type { StoredPayment } from '../domain/payment.ts'
import type { PaymentsStore } from '../store/payments-store.ts'
import { bindExpirePayment, bindFindRestored, bindLookUpLate, bindPollProvider } from './ask-provider.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import { bindCreateAtProvider, bindRepeatCreate } from './create-at-provider.ts'
import { bindRefusal } from './discard-refused.ts'
import { bindErasePerson, type ErasureClients } from './erase-person.ts'
import { bindHoldFunds, bindPostEntry, type HoldFundsDeps } from './post-to-ledger.ts'
import type { ProviderCallDeps } from './provider-call.ts'
import { bindCloseAnomaly, bindRecordAnomaly, bindReportOpen } from './report-to-operator.ts'
import { bindReportsToSupport, type SupportClients } from './report-to-support.ts'

/** What the effects of payments call. */
interface PaymentEffectDeps extends HoldFundsDeps {
  readonly store: Pick<PaymentsStore, 'payments' | 'withdrawal_refusals' | 'anomalies'>
  readonly provider_calls: ProviderCallDeps
  readonly publisher: Publisher
  readonly support: SupportClients
  readonly erasers: ErasureClients
}

/** Binds every kind of effect that a payment can have. */
export function bindEffects(deps: PaymentEffectDeps): readonly BoundEffect<StoredPayment>[] {
  const { store, provider_calls } = deps
  return [
    bindCreateAtProvider(provider_calls),
    bindPollProvider(provider_calls),
    bindRepeatCreate(provider_calls),
    bindExpirePayment(provider_calls),
    bindLookUpLate(provider_calls),
    bindFindRestored(provider_calls),
    bindHoldFunds(deps),
    bindPostEntry(deps.ledger),
    ...bindRefusal(store),
    bindRecordAnomaly(store.anomalies),
    bindCloseAnomaly(store.anomalies),
    bindReportOpen(),
    ...bindReportsToSupport(deps.support),
    bindErasePerson(store.anomalies, deps.erasers),
    bindPaymentEffect(publishEventEffect, publishEventHandler(deps.publisher)),
  ]
}
