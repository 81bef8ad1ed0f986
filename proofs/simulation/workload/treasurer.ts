import { LedgerAccount } from '#gen/multihub/balances/v1/balance_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { HoldResolution, LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { Choices } from '../parts/random.ts'
import type { History } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'

/** What sending one command needs. */
interface SendDeps {
  readonly history: History
  readonly choices: Choices
}

/** What commands to the ledger need. */
export interface TreasurerDeps extends SendDeps {
  readonly operator: ClientOf
  /** Clients with the rights of the payments role, which places and ends holds. */
  readonly payments: ClientOf
  /** Whether commands may still be sent. */
  readonly isOpen: () => boolean
}

/** The currency of holds and adjustments. No deposit has it, so that the balance follows from these commands alone. */
const CURRENCY = 'AUD'

/** The currency that is settled, of the withdrawal route whose limits may include one per settlement period. */
const SETTLED_CURRENCY = 'INR'

const SETTLEMENTS_MAX = 10

/** The ids are few, so that commands are repeated and contradict each other. */
const HOLDS_MAX = 30

/** A fee is taken from what the merchant has, and refused when that is less. */
const FEE = { debit: LedgerAccount.AVAILABLE, credit: LedgerAccount.FEES } as const
/** Fees are higher than holds, so that some exceed the funds. */
const FEE_SHARE = 3n

/** What a command was answered with. */
interface Answer {
  readonly entry?: { readonly refusedCode: number } | undefined
}

/**
 * Sends commands to the ledger for a merchant: adjustments, settlements, fees, holds, and the captures and releases of
 * holds. A capture or release may come before its hold, twice, or after the other one; a known id comes again with another
 * amount, which must be refused. Each id must have one outcome permanently.
 */
export async function runTreasurer(
  deps: TreasurerDeps,
  { merchant_id: merchantId, environment }: SimulatedMerchant,
): Promise<void> {
  const { choices, isOpen } = deps
  const ledger = deps.payments(LedgerService)
  const balances = deps.operator(BalanceService)
  const common = { merchantId, environment, reason: 'simulated' }
  while (isOpen()) {
    const number = choices.integer(1, HOLDS_MAX)
    const holdId = `hold-${merchantId}-${number}`
    const amount = { minor: BigInt(100 + 37 * number), currency: CURRENCY }
    const resolve = (name: 'CAPTURE' | 'RELEASE'): Promise<void> => {
      const resolution = HoldResolution[name]
      return send(deps, `${name} ${holdId}`, () => ledger.resolveHold({ ...common, holdId, resolution }))
    }
    await choices.weighted<() => Promise<void>>([
      [
        2,
        () =>
          send(deps, `adjust ${holdId}`, () =>
            balances.adjust({ ...common, currency: CURRENCY, amount, operationId: holdId }),
          ),
      ],
      [5, () => send(deps, holdId, () => ledger.placeHold({ ...common, holdId, amount }))],
      [
        1,
        () => {
          const operationId = `settlement-${choices.integer(1, SETTLEMENTS_MAX)}`
          return send(deps, `${operationId} ${merchantId}`, () =>
            balances.settle({ ...common, currency: SETTLED_CURRENCY, operationId }),
          )
        },
      ],
      [
        2,
        () =>
          send(deps, `fee-${merchantId}-${number}`, () =>
            ledger.postTransfer({
              ...common,
              ...FEE,
              transferId: `fee-${merchantId}-${number}`,
              amount: { minor: amount.minor * FEE_SHARE, currency: CURRENCY },
            }),
          ),
      ],
      [
        1,
        () =>
          contradict(deps, holdId, () => ledger.placeHold({ ...common, holdId, amount: moreThan(amount) })),
      ],
      [2, () => resolve('CAPTURE')],
      [2, () => resolve('RELEASE')],
    ])()
    await sleep(choices.between(0, choices.pick([20, 100, 400])))
  }
}

/** Sends a command under an id whose outcome is known, with another amount. It must not be answered with an entry. */
async function contradict(
  { history }: SendDeps,
  name: string,
  command: () => Promise<Answer>,
): Promise<void> {
  if (!history.outcomes.has(name)) return
  await command().then(
    () => history.problems.push(`${name}: its id was accepted again with another amount`),
    () => {},
  )
}

function moreThan({ minor, currency }: { readonly minor: bigint; readonly currency: string }) {
  return { minor: minor + 1n, currency }
}

/** Sends a command, sometimes again, and compares its outcome with the earlier ones of the same `name`. */
async function send(deps: SendDeps, name: string, command: () => Promise<Answer>): Promise<void> {
  const { history, choices } = deps
  const outcome = await command().then(
    ({ entry }) => `recorded ${entry?.refusedCode ?? 0}`,
    // It is not known whether the command was decided, or it was not recorded and may be decided otherwise later.
    () => undefined,
  )
  if (outcome === undefined) return
  const earlier = history.outcomes.get(name)
  if (earlier !== undefined && earlier !== outcome) {
    history.problems.push(`${name}: its outcome was ${earlier}, and is ${outcome} after a repetition`)
  }
  history.outcomes.set(name, outcome)
  if (choices.chance(0.1)) await send(deps, name, command)
}
