import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { sleep } from '#lib/base/time.ts'
import type { World } from '../world/world.ts'
import { createDeposit } from './customer.ts'
import { newPaymentRecord, type PaymentRecord, recordKey } from './history.ts'
import { createMerchant, type SimulatedMerchant } from './merchants.ts'
import { isOpenAnswer, type RequestDeps } from './requests.ts'

const CURRENCY = 'INR'
/** The largest balance (E6.2). */
const BALANCE_MAX = 2n ** 63n - 1n
/** What the balance has room for. Smaller deposits than 10^15 are never refused for it. */
const ROOM = 2_000_000_000_000_000
/** What is held of the balance: it needs room, too. Less than a deposit, so that the credits of two deposits exceed the balance. */
const HELD = 1_000_000_000_000_000
/** How many deposits fill it. */
const FITTING = 4
/** What they are together: so much may be missing in the balance for all of their credits. */
export const FITTING_SUM = { minor: BigInt(FITTING * ROOM), currency: CURRENCY }
const NO_ROOM = 6001

/** Creates a merchant whose balance has room for one large deposit. Nothing fails yet. */
export async function createFullMerchant(world: World): Promise<SimulatedMerchant> {
  const { operator, rpc } = world
  const choices = world.choicesOf('full balance')
  const merchant = await createMerchant(operator, choices, 99, {
    routes: [
      {
        method: 'upi',
        currency: CURRENCY,
        provider_accounts: ['sandbox'],
        minimum_amount: 0,
        has_numeric_ids: false,
        expires_in_seconds: 60,
      },
    ],
    origins: [],
  })
  const owner = ownerOf(merchant.merchant_id)
  const available = money(BALANCE_MAX - BigInt(ROOM))
  await operator(BalanceService).adjust({
    ...owner,
    currency: CURRENCY,
    amount: available,
    reason: 'nearly full',
    operationId: 'fill',
  })
  const hold = { holdId: `hold-full-${owner.merchantId}`, amount: money(BigInt(HELD)), reason: 'simulated' }
  await rpc
    .outside('payments')(LedgerService)
    .placeHold({ ...owner, ...hold })
  return merchant
}

function ownerOf(merchantId: string) {
  return { merchantId, environment: Environment.TEST }
}

function money(minor: bigint) {
  return { minor, currency: CURRENCY }
}

interface FullBalanceDeps extends RequestDeps {
  /** Whether requests may still be made. */
  readonly isOpen: () => boolean
}

/**
 * Makes several deposits at once of which each fills the balance, so that at least one is never refused for want of room, and others
 * that are too large, of which none is accepted. When two of the first ones succeed, the ledger refuses the credit of the second one.
 */
export async function runFullBalance(deps: FullBalanceDeps, merchant: SimulatedMerchant): Promise<void> {
  const { choices, history } = deps
  const fitting = Array.from({ length: FITTING }, (_, number) =>
    newRecord(deps, merchant, `fits-${number}`, ROOM),
  )
  const makeFitting = async (record: PaymentRecord): Promise<void> => {
    await sleep(choices.between(0, 300))
    await createUntilAnswered(deps, merchant, record)
    const others = fitting.filter((other) => other !== record)
    if (record.refused_code === NO_ROOM && others.every(cannotBeCredited))
      history.problems.push(`${record.c_id}: it was refused with ${NO_ROOM}, and there was room`)
  }
  const makeTooLarge = async (number: number): Promise<void> => {
    await sleep(choices.between(0, 600))
    const record = newRecord(deps, merchant, `too-large-${number}`, ROOM + choices.integer(1, HELD))
    await createUntilAnswered(deps, merchant, record)
    if (record.is_accepted) history.problems.push(`${record.c_id}: it was accepted, and there was no room`)
  }
  await Promise.all([...fitting.map(makeFitting), ...[1, 2, 3].map(makeTooLarge)])
}

function newRecord(
  { history }: FullBalanceDeps,
  { merchant_id, routes: [route] }: SimulatedMerchant,
  c_id: string,
  amount: number,
): PaymentRecord {
  const request = {
    service_id: route?.service_id ?? 0,
    amount,
    currency: CURRENCY,
    webhook_origin: undefined,
  }
  const record = newPaymentRecord({ direction: 'in', merchant_id, c_id }, request)
  history.payments.set(recordKey(merchant_id, c_id), record)
  return record
}

async function createUntilAnswered(
  deps: FullBalanceDeps,
  merchant: SimulatedMerchant,
  record: PaymentRecord,
): Promise<void> {
  const { choices, isOpen } = deps
  while (isOpen() && isOpenAnswer(await createDeposit(deps, merchant, record, NO_ROOM)))
    await sleep(choices.between(10, 1_000))
}

/** Whether a deposit certainly does not exist. */
function cannotBeCredited({ is_accepted, open_creates, creates, refused_code }: PaymentRecord): boolean {
  return !is_accepted && open_creates === 0 && (creates === 0 || refused_code !== undefined)
}
