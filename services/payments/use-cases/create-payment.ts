import { currentRequest } from '#lib/base/context.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type Policy, permitsRoute } from '#lib/contract/policy.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { withTraceparent } from '#lib/telemetry/span.ts'
import type { AccountSelection } from '../connectors/account-selection.ts'
import type { AccountsOfPayments } from '../connectors/find-account.ts'
import { answeredRefusals, hasFreedCId, inPlaceOf, type WithdrawalRefusal } from '../domain/hold-decision.ts'
import {
  beginDeposit,
  beginWithdrawal,
  type CreatePaymentRequest,
  type NewPaymentFields,
} from '../domain/new-payment.ts'
import {
  type EarlierRefusal,
  isAdmitted,
  type Payment,
  type PaymentRoute,
  type RefusedWithdrawal,
  type StoredPayment,
} from '../domain/payment.ts'
import { keyOfPayment } from '../store/payments.ts'
import { recordRefusal } from '../store/payments-store.ts'
import { type AdmissionDeps, awaitDecision } from './await-change.ts'
import { type BalanceRoomDeps, hasBalanceRoom } from './balance-room.ts'
import { AMOUNT_FIELD, findPermittedRoute, type PermittedRouteDeps } from './permitted-route.ts'

/** What creating a payment needs. */
export interface CreatePaymentDeps
  extends AdmissionDeps,
    PermittedRouteDeps,
    BalanceRoomDeps,
    Pick<AccountSelection, 'chooseAccounts'>,
    Pick<AccountsOfPayments, 'fingerprintOf'> {
  readonly withdrawal_refusals: Collection<WithdrawalRefusal>
  /** Recognizes the request of a refused withdrawal without keeping it. */
  readonly search: Pick<Signer, 'sign' | 'verify'>
  nextNumericId(): string
}

/** How often the insert is tried while other requests use the `c_id` and free it again. */
const INSERT_TRIES_MAX = 100

/**
 * Creates a payment: stores it, sends it to the provider, and returns it with the status that it then has (P3, E14). A
 * withdrawal is sent when the ledger has placed its hold. Refusals come in the order of E9: the refusals of
 * `findPermittedRoute`, 6009 for a `c_id` that was used before, 6001 for a deposit without room in the balance, 7002 when all
 * accounts are known to be down, then the refusals of the ledger, after which only a record is left (P3). Throws `Unavailable`
 * when the ledger does not decide in time.
 */
export async function createPayment(
  deps: CreatePaymentDeps,
  request: CreatePaymentRequest,
): Promise<Payment> {
  const route = await findPermittedRoute(deps, request)
  if (!(await hasBalanceRoom(deps, route, request.amount)))
    throw await duplicateOr(deps, request, fieldError(6001, AMOUNT_FIELD))
  const { account_ids, giveBack } = deps.chooseAccounts(route.provider_accounts, request.environment)
  try {
    return await createOnRoute(deps, request, { ...route, provider_accounts: account_ids })
  } catch (error) {
    giveBack()
    throw error
  }
}

/** Creates the payment on its route, which has only the accounts that may be tried. */
async function createOnRoute(
  deps: CreatePaymentDeps,
  request: CreatePaymentRequest,
  route: PaymentRoute,
): Promise<Payment> {
  const [account_id] = route.provider_accounts
  if (account_id === undefined) throw await duplicateOr(deps, request, new PublicError(7002))
  const new_payment = newPayment(deps, request, route, account_id)
  const inserted = await insertPayment(deps, request, new_payment)
  const created = await runEffects(deps, inserted)
  const payment = isAdmitted(created) ? created : await awaitDecision(deps, created)
  if (!payment || !isAdmitted(payment)) throw await refusalError(deps, payment ?? inserted)
  return payment
}

/**
 * Inserts the payment, or puts it in the place of a refused withdrawal. Throws 6009 when an admitted payment or a refused withdrawal of
 * a restored backup has its `c_id` (P19), and the refusal again when this very request was refused in the last 60 seconds (P3).
 */
async function insertPayment(
  deps: CreatePaymentDeps,
  request: CreatePaymentRequest,
  payment: StoredPayment,
): Promise<Stored<StoredPayment>> {
  for (let tries = 1; tries <= INSERT_TRIES_MAX; tries += 1) {
    const { stored, is_new } = await deps.runner.insertOrGet(payment)
    if (is_new) return stored
    const decided = await awaitDecision(deps, stored)
    if (decided === undefined) continue
    if (decided.status !== 'refused' || !hasFreedCId(decided)) throw duplicateError(request.policy, decided)
    const refusal = findRefusal(deps, request, decided)
    if (refusal) throw new PublicError(refusal.error_code)
    const replaced = await replaceRefused(deps, decided, payment)
    if (replaced) return replaced
  }
  throw new Unavailable('other requests use the c_id and free it again; try later')
}

/** The refusal of this very request: the network may deliver it again, and an attacker may repeat it. */
function findRefusal(
  { search }: CreatePaymentDeps,
  request: CreatePaymentRequest,
  refused: RefusedWithdrawal,
): EarlierRefusal | undefined {
  const text = payloadText(request)
  return answeredRefusals(refused, now()).findLast(({ payload_mac }) => search.verify(text, payload_mac))
}

/** What the HMAC of a withdrawal covers. The hash comes first, because it has a fixed length. */
function payloadText({ payload_hash, merchant_id, environment }: CreatePaymentRequest): string {
  return `withdrawal:${payload_hash ?? ''}:${environment}:${merchant_id}`
}

/** Puts a payment in the place of a refused withdrawal, whose record stays; `undefined` when another request was faster. */
async function replaceRefused(
  { runner, withdrawal_refusals }: CreatePaymentDeps,
  refused: Stored<RefusedWithdrawal>,
  payment: StoredPayment,
): Promise<Stored<StoredPayment> | undefined> {
  await recordRefusal(withdrawal_refusals, refused)
  const replacement = inPlaceOf(refused, payment, now())
  const stored = await runner.update(
    keyOfPayment(payment),
    ({ status, payment_id }) =>
      status === 'refused' && payment_id === refused.payment_id ? withTraceparent(replacement) : undefined,
    refused,
  )
  return stored?.payment_id === payment.payment_id ? stored : undefined
}

/** The refusal of a request before its insert, unless the `c_id` is in use: that is 6009, which comes first (E9, P2). */
async function duplicateOr(
  deps: CreatePaymentDeps,
  request: CreatePaymentRequest,
  refusal: Error,
): Promise<Error> {
  const found = await deps.payments.get(keyOfPayment(request), { linearizable: true })
  const decided = found && (await awaitDecision(deps, found))
  if (!decided || (decided.status === 'refused' && hasFreedCId(decided))) return refusal
  return duplicateError(request.policy, decided)
}

/** Runs the effects of the new payment, which call the ledger and the provider. */
async function runEffects(
  { runner }: CreatePaymentDeps,
  inserted: Stored<StoredPayment>,
): Promise<Stored<StoredPayment>> {
  try {
    const newest = await runner.runEffects(inserted)
    // A refusal frees the c_id, so another payment may have it by now. That one is not the result of this request (E11).
    return newest.payment_id === inserted.payment_id ? newest : inserted
  } catch {
    // The payment is stored, so it is returned as it was stored (E14). The runner has logged the failure, and the sweeper runs
    // the effects later.
    return inserted
  }
}

function newPayment(
  deps: CreatePaymentDeps,
  request: CreatePaymentRequest,
  route: PaymentRoute,
  account_id: string,
): StoredPayment {
  const { policy: _policy, payload_hash: _payload_hash, ...requested } = request
  const created_at = now()
  const payment_id = uuidv7()
  const fingerprint = deps.fingerprintOf(account_id, request.environment)
  const h_id = route.numeric_h_id ? deps.nextNumericId() : payment_id
  const fields: NewPaymentFields = {
    ...requested,
    payment_id,
    h_id,
    request_id: currentRequest()?.request_id,
    method: route.method,
    provider_accounts: route.provider_accounts,
    attempt: { number: 1, account_id, created_at },
    attempts: [{ number: 1, account: { fingerprint, at: created_at } }],
    created_at,
  }
  if (route.direction === 'out') return beginWithdrawal(fields, deps.search.sign(payloadText(request)))
  const expires_at = new Date(created_at.getTime() + route.expires_in_seconds * 1_000)
  return beginDeposit({ ...fields, expires_at })
}

/**
 * The 6009 for a used `c_id`, with the `h_id` and the status of the payment, for a client that lost its first response. A
 * credential that may not read the payment, by its stored route and currency, gets the 6009 without them (E11), as of a refused
 * withdrawal, which no merchant sees.
 */
function duplicateError(policy: Policy, decided: Payment | RefusedWithdrawal): PublicError {
  const { h_id, status, service_id, currency } = decided
  const may_read = status !== 'refused' && permitsRoute(policy, service_id, currency)
  return new PublicError(6009, may_read ? { context: { h_id, status } } : {})
}

/** The error for a withdrawal that the ledger refused, from its record when the withdrawal was replaced or deleted since. */
async function refusalError(
  { withdrawal_refusals }: CreatePaymentDeps,
  withdrawal: StoredPayment,
): Promise<Error> {
  if (withdrawal.status === 'refused') return new PublicError(withdrawal.error_code)
  const { merchant_id, payment_id } = withdrawal
  const refusal = await withdrawal_refusals.get({ merchant_id, payment_id })
  return refusal
    ? new PublicError(refusal.error_code)
    : new Unavailable('the record of the refusal is missing')
}
