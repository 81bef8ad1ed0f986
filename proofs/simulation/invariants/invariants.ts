import { adjustmentsAreAudited, approvalsAreExecuted, auditIsWhole, keptActsWereDone } from './acts.ts'
import { callbacksAreSigned, callbacksAreTrue, deliveriesHaveEnded } from './callbacks.ts'
import { eventsAreDelivered } from './events.ts'
import { filesAreUsedOnce, shownFilesExist } from './files.ts'
import type { Invariant } from './judge.ts'
import { checkpointsFollow, creditsMatchPayments, journalReplays, outcomesAreRecorded } from './ledger.ts'
import {
  acceptedPaymentsExist,
  paymentsAreFinal,
  shownStatusesAreTrue,
  storedPaymentsAreFound,
} from './payments.ts'
import { booksAgree } from './provider.ts'
import {
  chargebacksAgree,
  entriesHaveOwners,
  refundEventsAreWhole,
  refundHoldsFollowFunds,
  refundsAgree,
  refundsGoToPaidAccounts,
} from './refunds.ts'
import { creationsHappenOnce } from './registry.ts'
import { supportEffectsEnd } from './summaries.ts'
import { mutationsHappenOnce } from './support-mutations.ts'
import { holdsMatchWithdrawals, limitsHold, refusalsAreRecorded } from './withdrawals.ts'

/** The invariants that are judged in the end. */
export const INVARIANTS: Readonly<Record<string, Invariant>> = {
  acceptedPaymentsExist,
  paymentsAreFinal,
  shownStatusesAreTrue,
  storedPaymentsAreFound,
  booksAgree,
  creditsMatchPayments,
  holdsMatchWithdrawals,
  limitsHold,
  refusalsAreRecorded,
  journalReplays,
  checkpointsFollow,
  outcomesAreRecorded,
  eventsAreDelivered,
  deliveriesHaveEnded,
  callbacksAreSigned,
  callbacksAreTrue,
  mutationsHappenOnce,
  supportEffectsEnd,
  refundsAgree,
  refundsGoToPaidAccounts,
  refundHoldsFollowFunds,
  refundEventsAreWhole,
  chargebacksAgree,
  entriesHaveOwners,
  filesAreUsedOnce,
  shownFilesExist,
  creationsHappenOnce,
  auditIsWhole,
  keptActsWereDone,
  adjustmentsAreAudited,
  approvalsAreExecuted,
}

/** The invariants that are judged after a restore, which forgets what merchants were shown after the backup (P18, P19, R10.1). */
export const RESTORED_INVARIANTS: Readonly<Record<string, Invariant>> = {
  paymentsAreFinal,
  booksAgree,
  creditsMatchPayments,
  holdsMatchWithdrawals,
  journalReplays,
  supportEffectsEnd,
  refundsAgree,
  refundsGoToPaidAccounts,
  refundHoldsFollowFunds,
  chargebacksAgree,
  entriesHaveOwners,
  mutationsHappenOnce,
  filesAreUsedOnce,
  creationsHappenOnce,
  auditIsWhole,
  keptActsWereDone,
  adjustmentsAreAudited,
  approvalsAreExecuted,
}
