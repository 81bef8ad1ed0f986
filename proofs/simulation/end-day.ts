import { sleep } from '#lib/base/time.ts'
import { FORGETS_NAME, openProblems } from './end-sessions.ts'
import { approvalsOf } from './invariants/acts.ts'
import { filesOf } from './invariants/files.ts'
import { lateLookups, paymentsOf } from './invariants/judge.ts'
import type { World } from './world/world.ts'

/** Longer than a file may stay unused (F2), and than the last of the late lookups waits (P7). */
const DAY_OVER_MS = 25 * 3_600_000

/** Within this time every process has compared its clock with its store's again, and acts. */
const CLOCKS_MEASURED_MS = 5_000

/** Longer than all that is due then takes. */
const END_MAX_MS = 200_000

/**
 * Moves the time behind a day without requests and judges what is left: files that nothing uses have expired, with their
 * bytes (F2), what late lookups of payments and refunds found is an anomaly (P7), and approvals that nobody has decided about have
 * expired (O5).
 */
export async function* endDay(world: World): AsyncIterable<string> {
  world.machine.advanceWall(DAY_OVER_MS)
  await sleep(CLOCKS_MEASURED_MS)
  const end_ms = world.scheduler.now_ms() + END_MAX_MS
  while (dayProblems(world).length > 0 && world.scheduler.now_ms() < end_ms) await sleep(1_000)
  yield* dayProblems(world)
}

function dayProblems(world: World): readonly string[] {
  const problems = paymentsOf(world).flatMap((payment) =>
    lateLookups(payment).map(({ id }) => `${payment.payment_id} still waits for its late lookup ${id}`),
  )
  for (const { approval_id, status } of approvalsOf(world.databases))
    if (status === 'pending')
      problems.push(`nobody has decided about the approval ${approval_id} for a day, and it has not expired`)
  if (!world.databases.has('attachments')) return problems
  for (const { attachment_id, status, claim, name } of filesOf(world)) {
    if (status === 'ready' && claim === undefined)
      problems.push(`the file ${attachment_id} was not used for a day, and has not expired`)
    if (status === 'rejected' && name !== 'erased')
      problems.push(`the file ${attachment_id} was rejected a day ago, and still has its name`)
  }
  // The names of files that have expired only now stay for another day.
  return [...problems, ...openProblems(world, [FORGETS_NAME])]
}
