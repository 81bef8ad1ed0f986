import { sleep, withTimeout } from '#lib/base/time.ts'
import { type ArchiveTask, startArchive } from './faults/archive-work.ts'
import { rollOut } from './faults/operator-work.ts'
import type { Plan } from './faults/plan.ts'
import { verifySystem } from './faults/restore.ts'
import { isOpenRefund } from './invariants/end-watch.ts'
import { documentsOf, paymentsOf } from './invariants/judge.ts'
import { batchesOf } from './invariants/ledger.ts'
import type { Watch } from './invariants/watch.ts'
import { loadAgain, type Workload } from './load.ts'
import { finalReads, settle, verificationProblems } from './settle.ts'
import type { World } from './world/world.ts'

const DAY_MS = 86_400_000

/** Within this time every process has compared its clock with its store's again, and acts. */
const CLOCKS_MEASURED_MS = 5_000

/** The time between two walks that erase and delete. The second load begins at any moment of it. */
const WALK_MS = 60_000

/** Longer than what is due after the load takes. */
const END_MAX_MS = 400_000

/** Of more old batches in one shard some are archived. */
const OLD_BATCHES_MAX = 5

/** The time that a run of the command has, and the share of runs that are killed. */
const RUN_MAX_MS = 60_000
const KILLED = 0.5

/**
 * What happens after the load of a seed with a pause: the balances processes restart and the ledger is verified, so that its batches can
 * be archived; days pass; then the load goes on, while processes erase and delete what has ended, and `archive` runs again and again.
 * Yields what is wrong. In the
 * end everything is in the databases again.
 */
export async function* pauseAndGoOn(
  world: World,
  plan: Plan & { readonly pause_days: number },
  { watch, ...workload }: Pick<Workload, 'api' | 'history' | 'merchants'> & { readonly watch: Watch },
): AsyncIterable<string> {
  const { history, api, merchants } = workload
  const choices = world.choicesOf('pause')
  await settle(world, history)
  await rollOut(world, () => {}, placesOf(world, 'balances'))
  yield* verificationProblems(world)
  const before = new Date(world.machine.now_ms() + 1)
  world.machine.advanceWall(plan.pause_days * DAY_MS)
  await sleep(choices.between(CLOCKS_MEASURED_MS, WALK_MS))
  let is_over = false
  const archiving = archiveAgainAndAgain(world, before, () => is_over)
  await loadAgain(world, plan, workload)
  is_over = true
  await archiving
  await settle(world, history)
  const endProblems = (): readonly string[] => [
    ...watch.overdue(world.machine.now_ms()),
    ...unerased(world, before),
  ]
  const end_ms = world.scheduler.now_ms() + END_MAX_MS
  while (endProblems().length > 0 && world.scheduler.now_ms() < end_ms) await sleep(1_000)
  yield* endProblems()
  yield* await run(world, { before })
  if (stubsOf(world).length === 0 && oldBatches(world, before) > OLD_BATCHES_MAX) yield 'nothing was archived'
  yield* finalReads(world, api, history, merchants, watch.withEnded(world.databases))
  yield* verifySystem(world, new Set())
  yield* await run(world, 'check')
  yield* await run(world, 'restore')
  yield* stubsOf(world).map((id) => `${id} is still archived`)
}

function placesOf({ cluster }: World, role: string) {
  return cluster.places.filter(({ roles }) => roles.some((one) => one === role))
}

/** Runs the command, which may be killed or fail, while the archive is away from time to time. */
async function archiveAgainAndAgain(world: World, before: Date, isOver: () => boolean): Promise<void> {
  const choices = world.choicesOf('archivist')
  const { faults } = world.archive
  const tasks: readonly (readonly [weight: number, task: ArchiveTask])[] = [
    [6, { before }],
    [1, 'check'],
    [1, 'restore'],
  ]
  while (!isOver()) {
    await sleep(choices.between(0, 500))
    const command = startArchive(world, choices.weighted(tasks))
    if (choices.chance(KILLED)) {
      await sleep(choices.between(0, choices.pick([10, 100, 1_000])))
      command.kill()
    } else await withTimeout(command.problems, RUN_MAX_MS)
    faults.is_away = choices.chance(0.2)
    faults.slow = choices.pick([0, 0, 0.3])
  }
  faults.is_away = false
  faults.slow = 0
}

/** Runs the command when nothing fails. Returns what is wrong. */
async function run(world: World, task: ArchiveTask): Promise<readonly string[]> {
  const problems = await startArchive(world, task).problems
  return problems === 0 ? [] : [`archive ${JSON.stringify(task)} has ${problems ?? 'failed with'} problems`]
}

/** A document whose person can be erased. */
interface Erasable {
  readonly environment: string
  readonly status: string
  readonly updated_at: Date
  readonly erased_at?: Date
}

/** The payments of production that ended before an instant, and whose person is not erased (O11). */
function unerased(world: World, before: Date): readonly string[] {
  return paymentsOf(world).flatMap((payment) => {
    const { environment, erased_at, updated_at } = payment as typeof payment & Erasable
    const is_open = payment.effects.length > 0 || payment.refunds?.some(({ state }) => isOpenRefund(state))
    const has_ended = !is_open && updated_at < before
    return environment === 'production' && has_ended && erased_at === undefined
      ? [`the person of ${payment.payment_id} is not erased`]
      : []
  })
}

/** The most batches of one shard that are older than an instant. */
function oldBatches({ databases }: World, before: Date): number {
  const old = batchesOf(databases).filter(({ time }) => time < before)
  return Math.max(0, ...[...Map.groupBy(old, ({ shard }) => shard).values()].map(({ length }) => length))
}

/** The stored documents whose bodies are in the archive. */
function stubsOf({ databases }: World): readonly string[] {
  const all = [
    ...documentsOf<{ archived?: unknown; payment_id: string }>(databases, 'payments', 'payments'),
    ...documentsOf<{ archived?: unknown; shard: number; seq: bigint }>(databases, 'balances', 'journal'),
  ]
  return all.flatMap((one) =>
    one.archived === undefined
      ? []
      : ['seq' in one ? `batch ${one.seq} of shard ${one.shard}` : one.payment_id],
  )
}
