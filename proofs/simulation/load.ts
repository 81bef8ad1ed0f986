import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { sleep } from '#lib/base/time.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { injectFaults } from './faults/inject.ts'
import type { Plan } from './faults/plan.ts'
import { type Restore, restoreInLoad } from './faults/restore.ts'
import { enableAccounts } from './faults/switch-account.ts'
import type { RenewableWatch } from './invariants/watch.ts'
import type { Choices } from './parts/random.ts'
import { LAST_COMMAND_MS } from './settle.ts'
import { depositInCalm } from './workload/calm.ts'
import { asOneOf, type Colleagues, runColleagues } from './workload/colleagues.ts'
import { runCustomer } from './workload/customer.ts'
import { runFileDesk } from './workload/file-desk.ts'
import { runFullBalance } from './workload/full-balance.ts'
import type { History } from './workload/history.ts'
import type { SimulatedMerchant } from './workload/merchants.ts'
import { reopen, runOperator } from './workload/operator.ts'
import type { PublicApi } from './workload/public-api.ts'
import { runRefundDesk } from './workload/refund-desk.ts'
import { runRefundSeries } from './workload/refund-series.ts'
import { runRegistrar } from './workload/registrar.ts'
import { runSupportDesk } from './workload/support-desk.ts'
import { runTreasurer } from './workload/treasurer.ts'
import { runWithdrawals } from './workload/withdrawals.ts'
import { RECEIVER_ORIGINS } from './world/receiver.ts'
import { repairDownAccount, type World } from './world/world.ts'

/** How many series of refunds a merchant has at the same time. */
const REFUND_SERIES = 3

/** How many customers there are for each recipient of withdrawals. */
const CUSTOMERS_PER_RECIPIENT = 3

/** The share of seeds with faults in which deposits are made when circuit breakers must have closed. */
const CALM = 0.2

/** What makes requests, and what they are compared with. */
export interface Workload {
  readonly history: History
  readonly api: PublicApi
  readonly merchants: readonly SimulatedMerchant[]
  /** The operator's people and program, in seeds with a back office. */
  readonly colleagues: Colleagues | undefined
  /** The merchant whose balance has room for one deposit only, in some seeds. */
  readonly full_merchant: SimulatedMerchant | undefined
}

/** Makes requests and faults for the time of the plan. Resolves when the last request has ended. */
export async function load(
  world: World,
  plan: Plan,
  {
    history,
    api,
    merchants,
    colleagues,
    full_merchant,
    watch,
  }: Workload & { readonly watch: RenewableWatch },
): Promise<Restore | undefined> {
  await sleep(1_500)
  const { restored_to, load_ms } = plan
  let end_ms = world.scheduler.now_ms() + load_ms
  const restoring =
    restored_to && restoreInLoad(world, { restored_to, load_ms }, { history, watch, merchants })
  if (restoring !== undefined) {
    end_ms = Number.POSITIVE_INFINITY
    const goOn = (): void => {
      end_ms = world.scheduler.now_ms() + load_ms
    }
    restoring.then(goOn, goOn)
  }
  const isOpen = (): boolean => world.scheduler.now_ms() < end_ms
  // Each call of the operator is made by one of the colleagues, where there are some.
  const operatorOf = (name: string): ClientOf =>
    colleagues === undefined ? world.operator : asOneOf(colleagues, world.choicesOf(`colleague of ${name}`))
  const buyers = runBuyers(world, plan, { api, history, merchants, isOpen })
  const treasurers = runTreasurers(world, { history, merchants, isOpen }, operatorOf)
  const desks = merchants.flatMap((merchant, index) => {
    const deps = { api, history, isOpen, operator: operatorOf(`desk ${index}`) }
    return [
      runSupportDesk({ ...deps, choices: world.choicesOf(`support ${index}`) }, merchant),
      runRefundDesk({ ...deps, choices: world.choicesOf(`refunds ${index}`) }, merchant),
      ...Array.from({ length: plan.has_refund_series ? REFUND_SERIES : 0 }, (_, number) => {
        const choices = world.choicesOf(`refund series ${index} ${number}`)
        return runRefundSeries({ ...deps, choices }, merchant, number)
      }),
      ...(plan.has_files
        ? [runFileDesk({ ...deps, choices: world.choicesOf(`files ${index}`) }, merchant)]
        : []),
    ]
  })
  const operators = merchants.map((merchant, index) => {
    const choices = world.choicesOf(`operator ${index}`)
    return plan.has_operator
      ? runOperator(
          {
            clientOf: operatorOf(`operator ${index}`),
            choices,
            isOpen,
            history,
            operations: () => world.provider.operations(),
          },
          merchant,
        )
      : undefined
  })
  const registrar = plan.has_registrar
    ? runRegistrar({ clientOf: world.operator, choices: world.choicesOf('registrar'), history, isOpen })
    : undefined
  const office =
    colleagues && runColleagues({ colleagues, choices: world.choicesOf('colleagues'), isOpen }, merchants)
  const full_balance =
    full_merchant &&
    runFullBalance({ api, history, choices: world.choicesOf('large deposits'), isOpen }, full_merchant)
  const faults = injectFaults(world, plan, () => !isOpen())
  await Promise.all([
    ...[...buyers, ...treasurers, ...desks, ...operators],
    ...[registrar, office, full_balance, faults],
  ])
  repairDownAccount(world)
  // The store may still be slow with the last commands that were sent under faults.
  await sleep(LAST_COMMAND_MS)
  if (plan.faults.has('provider account is switched')) await enableAccounts(world.operator)
  const restored = await restoring
  for (const merchant of merchants) await reopen(world.operator, merchant)
  if (restored !== undefined) return restored
  const choices = world.choicesOf('calm')
  const customer = { api, history, choices, origins: RECEIVER_ORIGINS, isOpen: () => true }
  // It takes a minute of simulated time, so only some seeds do it.
  if (plan.faults.size > 0 && choices.chance(CALM)) await depositInCalm(customer, merchants)
  return undefined
}

/** What the actors of a part of the load need. */
type Shift = Pick<Workload, 'api' | 'history' | 'merchants'> & { isOpen(): boolean }

/** How the names end that a merchant gives in the second load. */
const LATER = '-later'

/** The first round of a refund desk in the second load: an id of an operation in the test environment may count no more (O25). */
const LATER_ROUND = 1_000_000

/**
 * Makes requests and faults again after days without any: new payments, refunds and chargebacks of old ones, and commands to the ledger
 * under ids that it has decided about. In production, where nothing ends, half of the buyers also repeat old requests.
 */
export async function loadAgain(
  world: World,
  plan: Plan,
  workload: Pick<Workload, 'api' | 'history' | 'merchants'>,
): Promise<void> {
  const end_ms = world.scheduler.now_ms() + plan.load_ms
  const isOpen = (): boolean => world.scheduler.now_ms() < end_ms
  const shift = { ...workload, isOpen }
  const { api, history, merchants } = workload
  const operatorOf = (): ClientOf => world.operator
  const desks = merchants.map((merchant, index) => {
    const choices = world.choicesOf(`later refunds ${index}`)
    return runRefundDesk({ api, history, isOpen, choices, operator: world.operator }, merchant, LATER_ROUND)
  })
  await Promise.all([
    ...runBuyers(world, plan, shift, LATER),
    ...runTreasurers(world, shift, operatorOf),
    ...desks,
    injectFaults(world, plan, () => !isOpen()),
  ])
  repairDownAccount(world)
  await sleep(LAST_COMMAND_MS)
}

function runTreasurers(
  world: World,
  { history, merchants, isOpen }: Omit<Shift, 'api'>,
  operatorOf: (name: string) => ClientOf,
): readonly Promise<void>[] {
  return merchants.map((merchant, index) => {
    const choices = world.choicesOf(`treasurer ${index}`)
    const deps = { history, choices, isOpen, operator: operatorOf(`treasurer ${index}`) }
    return runTreasurer({ ...deps, payments: world.rpc.outside('payments') }, merchant)
  })
}

/** The customers of the merchants, and those whom they pay. Their new names end with `later` in the second load. */
function runBuyers(
  world: World,
  plan: Plan,
  { api, history, merchants, isOpen }: Shift,
  later = '',
): readonly Promise<void>[] {
  const customers = merchants.flatMap((merchant, index) =>
    Array.from({ length: plan.customers }, (_, number) => {
      const choices = world.choicesOf(`customer ${index} ${number}${later}`)
      const suffix = suffixOf(merchant, choices, later)
      return runCustomer(
        { api, history, choices, origins: RECEIVER_ORIGINS, isOpen, suffix },
        merchant,
        number,
      )
    }),
  )
  const recipients = merchants.flatMap((merchant, index) =>
    Array.from({ length: Math.ceil(plan.customers / CUSTOMERS_PER_RECIPIENT) }, (_, number) => {
      const choices = world.choicesOf(`withdrawals ${index} ${number}${later}`)
      const suffix = suffixOf(merchant, choices, later)
      return runWithdrawals(
        { api, history, choices, origins: RECEIVER_ORIGINS, isOpen, suffix },
        merchant,
        number,
      )
    }),
  )
  return [...customers, ...recipients]
}

function suffixOf({ environment }: SimulatedMerchant, choices: Choices, later: string): string {
  return later !== '' && environment === Environment.PRODUCTION && choices.chance(0.5) ? '' : later
}
