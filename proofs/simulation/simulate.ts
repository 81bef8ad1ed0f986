import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { endDay } from './end-day.ts'
import { endSessions } from './end-sessions.ts'
import { killUploads } from './end-uploads.ts'
import { injectFaults } from './faults/inject.ts'
import { removeOldKey } from './faults/operator-work.ts'
import { type Plan, planOf } from './faults/plan.ts'
import { type Restore, restoreInLoad, verifySystem } from './faults/restore.ts'
import { enableAccounts } from './faults/switch-account.ts'
import type { StoredDelivery } from './invariants/callbacks.ts'
import { INVARIANTS, RESTORED_INVARIANTS } from './invariants/invariants.ts'
import { documentsOf } from './invariants/judge.ts'
import { watchQuotas } from './invariants/quotas.ts'
import { createRenewableWatch, type RenewableWatch } from './invariants/watch.ts'
import { faultIn, watchLog } from './log-lines.ts'
import { finalReads, LAST_COMMAND_MS, settle } from './settle.ts'
import { depositInCalm } from './workload/calm.ts'
import {
  asOneOf,
  auditVerifies,
  type Colleagues,
  createColleagues,
  runColleagues,
} from './workload/colleagues.ts'
import { runCustomer } from './workload/customer.ts'
import { runFileDesk } from './workload/file-desk.ts'
import { createFullMerchant, runFullBalance } from './workload/full-balance.ts'
import { createHistory, type History } from './workload/history.ts'
import { createMerchant, drawMerchant, type SimulatedMerchant } from './workload/merchants.ts'
import { reopen, runOperator } from './workload/operator.ts'
import { createPublicApi, type PublicApi } from './workload/public-api.ts'
import { runRefundDesk } from './workload/refund-desk.ts'
import { runRefundSeries } from './workload/refund-series.ts'
import { runRegistrar } from './workload/registrar.ts'
import { replayDead } from './workload/replays.ts'
import { runSupportDesk } from './workload/support-desk.ts'
import { runTreasurer } from './workload/treasurer.ts'
import { runWithdrawals } from './workload/withdrawals.ts'
import { RECEIVER_ORIGINS } from './world/receiver.ts'
import { addPlaces, createWorld, PUBLIC_ORIGIN, repairDownAccount, type World } from './world/world.ts'

/** The result of one seed. */
export interface SeedResult {
  readonly seed: number
  /** What was violated; empty when the seed passed. */
  readonly problems: readonly string[]
  readonly plan: Plan
  /** The hash of the whole trace. */
  readonly digest: string
  readonly last_lines: readonly string[]
  readonly payments: number
  readonly events: number
  readonly simulated_ms: number
}

/** The end of a simulation: the time after which it is wrong, even if nothing else is. */
const END_MS = 3_600_000

/** What a merchant may withdraw in each currency before a deposit succeeds. */
const FUNDS = 2_000_000n

/** How many series of refunds a merchant has at the same time. */
const REFUND_SERIES = 3

/** How many customers there are for each recipient of withdrawals. */
const CUSTOMERS_PER_RECIPIENT = 3

/** The share of seeds with faults in which deposits are made when circuit breakers must have closed. */
const CALM = 0.2

/** The share of seeds in which a day passes after the last request. */
const DAY_LATER = 0.4

/** What a notifier logs about an event that takes the key of another role's event: only an attacker sends one. */
const TAKEN_KEY = 'has the key of another event'

/** How a seed is simulated. */
export interface SeedOptions {
  /** Whether one merchant makes requests for a short time only. */
  readonly is_small: boolean
  /** Whether what is wrong at a moment ends the simulation at once. */
  readonly stops_at_failure: boolean
  /** Gets each line of the trace. */
  readonly onLine?: ((line: string) => void) | undefined
}

/** Simulates one seed from its start to its end. */
export async function simulateSeed(
  seed: number,
  { is_small, stops_at_failure, onLine }: SeedOptions,
): Promise<SeedResult> {
  const history = createHistory()
  const watch = createRenewableWatch(history)
  const problems: string[] = []
  const plan = planOf(seed, is_small)
  const onCleanScan = (sha256: string): void => void history.clean_files.add(sha256)
  const world = await createWorld(seed, plan, {
    ...watch,
    onCleanScan,
    ...(onLine === undefined ? {} : { onLine }),
  })
  const public_api = createPublicApi(world.machine, world.http, world.choicesOf('api'), PUBLIC_ORIGIN)
  // A gateway whose clock is wrong by minutes opens a window of its own, and a restore forgets the calls after the backup.
  const api =
    plan.faults.has('clock is wrong') || plan.restored_to !== undefined
      ? public_api
      : watchQuotas(public_api, world.machine.now_ms, (problem) => void problems.push(problem))
  const onRejection = (error: unknown): void => {
    problems.push(`a promise was rejected without a handler: ${describe(error)}`)
  }
  process.on('unhandledRejection', onRejection)
  watchFaults(world, plan, problems)
  try {
    let is_over = false
    let is_day_over = false
    let merchants: readonly SimulatedMerchant[] = []
    let restore: Restore | undefined
    const story = async (): Promise<void> => {
      merchants = await prepare(world, plan)
      const colleagues = plan.has_backoffice ? await createColleagues(world) : undefined
      const full_merchant = plan.has_full_balance ? await createFullMerchant(world) : undefined
      restore = await load(world, plan, { history, api, merchants, watch, colleagues, full_merchant })
      is_day_over = world.choicesOf('a day later').chance(DAY_LATER)
      const rest = { history, api, merchants, colleagues, full_merchant, is_day_over }
      const after = restore ? afterRestore(world, restore) : aftermath(world, plan, rest)
      for await (const problem of after) problems.push(problem)
    }
    story()
      .catch((error: unknown) => problems.push(`the simulation failed: ${describe(error)}`))
      .finally(() => {
        is_over = true
      })
    const isFailed = (): boolean => stops_at_failure && watch.problems.length > 0
    await world.scheduler.run(() => is_over || isFailed() || world.scheduler.now_ms() > END_MS)
    if (!is_over) problems.push('the simulation did not end')
    const evidence = {
      databases: world.databases,
      operations: [...world.provider.operations()],
      callbacks: world.receivers.callbacks,
      refund_orders: watch.refund_orders,
      history,
      merchants,
      is_faultless: plan.faults.size === 0,
      is_day_over,
      ...(restore && { lost: restore.lost, is_day_over: false }),
    }
    for (const [name, invariant] of Object.entries(restore ? RESTORED_INVARIANTS : INVARIANTS)) {
      for (const problem of invariant(evidence)) problems.push(`${name}: ${problem}`)
    }
    return {
      seed,
      problems: [
        ...watch.problems,
        ...history.problems.slice(0, restore?.history_problems),
        ...api.problems,
        ...world.provider.problems.filter((problem) => !isAboutLost(problem, restore)),
        ...problems,
      ],
      plan,
      digest: world.trace.digest(),
      last_lines: world.trace.lastLines(30),
      payments: history.payments.size,
      events: world.scheduler.eventCount(),
      simulated_ms: world.scheduler.now_ms(),
    }
  } finally {
    process.off('unhandledRejection', onRejection)
    world.restore()
  }
}

/** Writes the log of the processes into the trace, and adds the faults in it to the problems. */
function watchFaults({ trace, machine }: World, { faults }: Plan, problems: string[]): void {
  watchLog((line) => {
    trace.add(`log ${machine.current()?.name ?? 'outside'} ${line.trimEnd()}`)
    const fault = faultIn(line)
    const is_refused_attack = faults.has('bus is attacked') && fault?.includes(TAKEN_KEY)
    if (fault !== undefined && !is_refused_attack) problems.push(`a fault was logged: ${fault}`)
  })
}

/** Starts all processes and creates the merchants. Nothing fails yet. */
async function prepare(world: World, plan: Plan): Promise<readonly SimulatedMerchant[]> {
  const choices = world.choicesOf('merchants')
  // Only production has accounts that can move or are switched.
  const needs_production =
    plan.faults.has('provider account moves') || plan.faults.has('provider account is switched')
  addPlaces(world, plan)
  await Promise.all(world.cluster.places.map((place) => world.cluster.start(place)))
  const merchants: SimulatedMerchant[] = []
  for (let number = 0; number < plan.merchants; number += 1) {
    const merchant = await createMerchant(
      world.operator,
      choices,
      number,
      drawMerchant(choices, number, needs_production),
    )
    await fund(world, merchant)
    for (const route of [...merchant.routes, ...merchant.withdrawal_routes])
      route.may_be_down = route.connector !== 'sandbox' && plan.faults.size > 0
    merchants.push(merchant)
  }
  return merchants
}

/** A provider may go on reporting what the restored system has lost: the reports are refused to the end. */
function isAboutLost(problem: string, restore: Restore | undefined): boolean {
  return [...(restore?.lost ?? [])].some((id) => problem.includes(id))
}

/** What happens after the load of a system that was restored. Yields what is wrong. */
async function* afterRestore(world: World, { lost, problems }: Restore): AsyncIterable<string> {
  await settle(world)
  yield* problems
  yield* verifySystem(world, lost)
}

/** What happens after the load, when nothing fails any more. Yields what is wrong. */
async function* aftermath(
  world: World,
  plan: Plan,
  { history, api, merchants, colleagues, is_day_over }: Workload & { readonly is_day_over: boolean },
): AsyncIterable<string> {
  const { operator } = world
  await settle(world, history)
  await killUploads(world, plan, { api, history, isOpen: () => true, operator }, merchants)
  yield* endSessions(world, api, { merchants, is_faultless: plan.faults.size === 0 })
  yield* await removeOldKey(world)
  await replayDead(
    { history, choices: world.choicesOf('replays'), operator },
    merchants,
    deadDeliveries(world),
  )
  await settle(world, history)
  if (is_day_over) yield* endDay(world)
  // The last of these replaces secrets.
  yield* finalReads(world, api, history, merchants)
  if (colleagues !== undefined) yield* auditVerifies(colleagues)
}

function deadDeliveries({ databases }: World): readonly StoredDelivery[] {
  const all = documentsOf<StoredDelivery>(databases, 'notifier', 'deliveries')
  return all.filter(({ status }) => status === 'dead')
}

/** Gives a merchant funds for its first withdrawals. */
async function fund(
  { operator }: World,
  { merchant_id, environment, withdrawal_routes }: SimulatedMerchant,
): Promise<void> {
  for (const { currency } of withdrawal_routes) {
    await operator(BalanceService).adjust({
      merchantId: merchant_id,
      environment,
      currency,
      amount: { minor: FUNDS, currency },
      reason: 'the first funds',
      operationId: `funds-${currency}`,
    })
  }
}

/** What makes requests, and what they are compared with. */
interface Workload {
  readonly history: History
  readonly api: PublicApi
  readonly merchants: readonly SimulatedMerchant[]
  /** The operator's people and program, in seeds with a back office. */
  readonly colleagues: Colleagues | undefined
  /** The merchant whose balance has room for one deposit only, in some seeds. */
  readonly full_merchant: SimulatedMerchant | undefined
}

/** Makes requests and faults for the time of the plan. Resolves when the last request has ended. */
async function load(
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
  const restoring = restored_to && restoreInLoad(world, { restored_to, load_ms }, { history, watch })
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
  const treasurers = merchants.map((merchant, index) => {
    const choices = world.choicesOf(`treasurer ${index}`)
    const deps = { history, choices, isOpen, operator: operatorOf(`treasurer ${index}`) }
    return runTreasurer({ ...deps, payments: world.rpc.outside('payments') }, merchant)
  })
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

/** The customers of the merchants, and those whom they pay. */
function runBuyers(
  world: World,
  plan: Plan,
  {
    api,
    history,
    merchants,
    isOpen,
  }: Pick<Workload, 'api' | 'history' | 'merchants'> & { isOpen(): boolean },
): readonly Promise<void>[] {
  const customers = merchants.flatMap((merchant, index) =>
    Array.from({ length: plan.customers }, (_, number) => {
      const choices = world.choicesOf(`customer ${index} ${number}`)
      return runCustomer({ api, history, choices, origins: RECEIVER_ORIGINS, isOpen }, merchant, number)
    }),
  )
  const recipients = merchants.flatMap((merchant, index) =>
    Array.from({ length: Math.ceil(plan.customers / CUSTOMERS_PER_RECIPIENT) }, (_, number) => {
      const choices = world.choicesOf(`withdrawals ${index} ${number}`)
      return runWithdrawals({ api, history, choices, origins: RECEIVER_ORIGINS, isOpen }, merchant, number)
    }),
  )
  return [...customers, ...recipients]
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
