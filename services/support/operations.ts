import { now } from '#lib/base/time.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import { withDueTimes } from '#lib/patterns/effects/effect.ts'
import { mayHaveEnded } from '#lib/patterns/test-retention.ts'
import { update } from '#lib/patterns/update.ts'
import type { DataCheck, ReadDocuments, RoleOperations } from '#lib/role/operations.ts'
import type { Claim, Requirement } from '#lib/role/requirement.ts'
import { type Chargeback, canMove, returnAmountEffect, withStatus } from './chargebacks/domain/chargeback.ts'
import { CHARGEBACKS, findChargebackById, keyOfChargeback } from './chargebacks/store/chargebacks.ts'
import type { PaymentReference } from './domain/support-resource.ts'
import { erasableParts } from './erasable-parts.ts'
import type { Refund } from './refunds/domain/refund.ts'
import { findRefundById, REFUNDS } from './refunds/store/refunds.ts'
import { openSupportStore, type SupportStore } from './store/support-store.ts'
import { eraseRestored } from './use-cases/erase-resources.ts'

/** What the commands of an installation need of support. */
export const operations: RoleOperations = {
  name: 'support',
  openCollections: openSupportStore,
  checkData: async (store, readDocuments) => createDataCheck(await openSupportStore(store), readDocuments),
  async erase(store, readDocuments, erasures) {
    const { ticket, refund, chargeback } = erasableParts(await openSupportStore(store))
    return (
      (await eraseRestored(ticket, readDocuments, erasures)) +
      (await eraseRestored(refund, readDocuments, erasures)) +
      (await eraseRestored(chargeback, readDocuments, erasures))
    )
  },
}

/** Checks refunds and chargebacks against their payments, which decide about them. */
function createDataCheck({ refunds, chargebacks }: SupportStore, readDocuments: ReadDocuments): DataCheck {
  return {
    async *listRequirements() {
      for await (const refund of readDocuments<Refund>(REFUNDS)) yield requirementOfRefund(refund)
      for await (const chargeback of readDocuments<Chargeback>(CHARGEBACKS))
        yield requirementOfChargeback(chargeback)
    },
    async find({ id, claim, ...since }) {
      const found =
        claim?.kind === 'chargeback'
          ? await findChargebackById(chargebacks, id)
          : await findRefundById(refunds, id)
      if (found === undefined) return mayHaveEnded(since) ? 'found' : 'missing'
      return found.amount === claim?.amount && !isBehind(found, claim) ? 'found' : 'different'
    },
    async adopt({ id, at, claim }) {
      if (claim?.kind !== 'chargeback' || !claim.is_won) return false
      const found = await findChargebackById(chargebacks, id)
      const won = await (found &&
        update(chargebacks, keyOfChargeback(found), (current) =>
          canMove(current.status, 'won')
            ? withDueTimes(withStatus(current, { status: 'won', at, note: '' }), now())
            : undefined,
        ))
      return won?.status === 'won'
    },
  }
}

/** Whether support shows an earlier status than the payment states, which is recorded here before its report is gone. */
function isBehind({ status }: Pick<Refund | Chargeback, 'status'>, claim: Claim): boolean {
  if (claim.kind === 'chargeback') return claim.is_won && status !== 'won'
  if (claim.kind !== 'refund' || status === claim.status) return false
  return status === 'pending' || (claim.status !== 'pending' && claim.status !== 'approved')
}

function requirementOf(
  {
    merchant_id,
    environment,
    payment,
    created_at: at,
  }: MerchantScope & {
    readonly payment: PaymentReference
    readonly created_at: Date
  },
  subject: string,
) {
  const { payment_id: id } = payment
  return {
    role: 'payments',
    merchant_id,
    environment,
    id,
    at,
    subject: `the payment ${id} of ${subject}`,
  } as const
}

function requirementOfRefund(refund: Refund): Requirement {
  const { refund_id, amount, currency, status } = refund
  const claim = { kind: 'refund', refund_id, amount, currency, status } as const
  return { ...requirementOf(refund, `the refund ${refund_id}`), claim }
}

/** The payment learns of a won chargeback by an effect of the chargeback. */
function requirementOfChargeback(chargeback: Chargeback): Requirement {
  const { chargeback_id, amount, currency, status, effects } = chargeback
  const is_won = status === 'won' && !effects.some(returnAmountEffect.matches)
  const claim = { kind: 'chargeback', chargeback_id, amount, currency, is_won } as const
  return { ...requirementOf(chargeback, `the chargeback ${chargeback_id}`), claim }
}
