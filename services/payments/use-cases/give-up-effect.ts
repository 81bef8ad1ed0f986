import type { Client } from '@connectrpc/connect'
import { type LedgerEntry, LedgerEntryKind } from '#gen/multihub/balances/v1/balance_pb.ts'
import type { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { log } from '#lib/telemetry/log.ts'
import { type GivingUp, giveUpEntry } from '../domain/give-up-entry.ts'
import { type Payment, requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import { LEDGER_CALL } from '../effects/post-to-ledger.ts'
import { findByAnyId, keyOfPayment } from '../store/payments.ts'
import type { AdmissionDeps } from './await-change.ts'

/** What giving up an entry needs. */
export interface GiveUpEffectDeps extends AdmissionDeps {
  readonly balances: Pick<Client<typeof BalanceService>, 'getEntry'>
}

/**
 * Gives up a stuck entry that the ledger refuses permanently, once per `operation_id`, in favour of an adjustment that the ledger
 * has. An exact repetition changes nothing. Throws 6010 for an unknown payment, 9000 for an entry that is no correction of it, and
 * 1013 and 8801 as `giveUpEntry`: also while the effect is being retried, and when it was given up under another `operation_id`.
 */
export async function giveUpEffect(
  { payments, runner, balances }: GiveUpEffectDeps,
  payment_id: string,
  givingUp: GivingUp,
): Promise<Payment> {
  const found = await findByAnyId(payments, payment_id)
  if (!found) throw new PublicError(6010)
  const decide = (current: StoredPayment): Payment | undefined => giveUpEntry(current, givingUp, now())
  // Its own refusals come first, and a repetition needs no ledger.
  if (decide(found) === undefined) return requireAdmitted(found)
  await requireCorrection(balances, found, givingUp.entry_id)
  let is_new = false
  const stored = await runner.update(
    keyOfPayment(found),
    (current) => {
      const corrected = decide(current)
      is_new = corrected !== undefined
      return corrected
    },
    found,
  )
  if (!stored) throw new PublicError(6010)
  if (is_new) {
    const { merchant_id } = stored
    const { effect_id: effect } = givingUp
    log.info({ payment_id: stored.payment_id, merchant_id, effect }, 'a ledger entry was given up')
    runner.runEffectsInBackground(stored)
  }
  return requireAdmitted(stored)
}

/** The ledger never takes an entry back, so a correction that exists stays. */
async function requireCorrection(
  balances: GiveUpEffectDeps['balances'],
  payment: StoredPayment,
  entryId: string,
): Promise<void> {
  const entry = await findEntry(balances, payment, entryId)
  const is_correction =
    entry?.kind === LedgerEntryKind.ADJUSTMENT &&
    entry.refusedCode === 0 &&
    entry.paymentId === payment.payment_id &&
    entry.amount?.currency === payment.currency
  if (!is_correction)
    throw fieldError(
      9000,
      'correction_entry_id',
      'the entry of an Adjust with the payment_id of this payment',
    )
}

async function findEntry(
  balances: GiveUpEffectDeps['balances'],
  payment: StoredPayment,
  entryId: string,
): Promise<LedgerEntry | undefined> {
  try {
    return (await balances.getEntry({ ...scopeToProto(payment), entryId }, LEDGER_CALL)).entry
  } catch (error) {
    if (error instanceof PublicError && error.code === 1003) return undefined
    throw error
  }
}
