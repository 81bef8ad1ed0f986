import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { endDay } from './end-day.ts'
import { endSessions } from './end-sessions.ts'
import { killUploads } from './end-uploads.ts'
import { removeOldKey, resealAll } from './faults/operator-work.ts'
import { type Plan, planOf } from './faults/plan.ts'
import { type Restore, verifySystem } from './faults/restore.ts'
import type { StoredDelivery } from './invariants/callbacks.ts'
import { INVARIANTS, RESTORED_INVARIANTS } from './invariants/invariants.ts'
import { documentsOf } from './invariants/judge.ts'
import { watchQuotas } from './invariants/quotas.ts'
import { createRenewableWatch, type Watch } from './invariants/watch.ts'
import { load, type Workload } from './load.ts'
import { faultIn, watchLog } from './log-lines.ts'
import { pauseAndGoOn } from './pause.ts'
import { finalReads, settle } from './settle.ts'
import { auditVerifies, createColleagues } from './workload/colleagues.ts'
import { createFullMerchant } from './workload/full-balance.ts'
import { createHistory } from './workload/history.ts'
import { createMerchant, drawMerchant, type SimulatedMerchant } from './workload/merchants.ts'
import { createPublicApi } from './workload/public-api.ts'
import { replayDead } from './workload/replays.ts'
import { addPlaces, createWorld, PUBLIC_ORIGIN, type World } from './world/world.ts'

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
      const rest = { history, api, merchants, colleagues, full_merchant, is_day_over, watch }
      for await (const problem of afterLoad(world, plan, restore, rest)) problems.push(problem)
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
      databases: watch.withEnded(world.databases),
      operations: [...world.provider.operations()],
      callbacks: world.receivers.callbacks,
      refund_orders: watch.refund_orders,
      history,
      merchants,
      is_faultless: plan.faults.size === 0,
      is_day_over,
      ...((restore || plan.pause_days) && { is_day_over: false }),
      ...(restore && { lost: restore.lost, kind: restore.kind }),
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

function afterLoad(
  world: World,
  plan: Plan,
  restore: Restore | undefined,
  rest: AfterLoad & { readonly watch: Watch },
): AsyncIterable<string> {
  const { pause_days } = plan
  return pause_days === undefined
    ? aftermath(world, plan, restore, rest)
    : pauseAndGoOn(world, { ...plan, pause_days }, rest)
}

type AfterLoad = Workload & { readonly is_day_over: boolean }

/** What happens after the load, when nothing fails any more. Yields what is wrong. */
async function* aftermath(
  world: World,
  plan: Plan,
  restore: Restore | undefined,
  { history, api, merchants, colleagues, is_day_over }: AfterLoad,
): AsyncIterable<string> {
  const { operator } = world
  const is_restored = restore !== undefined
  await settle(world, history)
  if (!is_restored) await killUploads(world, plan, { api, history, isOpen: () => true, operator }, merchants)
  yield* endSessions(world, api, { merchants, is_faultless: plan.faults.size === 0, is_restored })
  if (is_restored) await resealAll(world)
  yield* await removeOldKey(world)
  const replaying = { history, choices: world.choicesOf('replays'), operator }
  if (!is_restored) await replayDead(replaying, merchants, deadDeliveries(world))
  await settle(world, history)
  if (is_restored) {
    yield* restore.problems
    yield* verifySystem(world, restore.lost)
  } else if (is_day_over) yield* endDay(world)
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

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
