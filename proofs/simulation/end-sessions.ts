import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { sleep } from '#lib/base/time.ts'
import { filesOf, type StoredQuota } from './invariants/files.ts'
import { documentsOf } from './invariants/judge.ts'
import type { SimulatedMerchant } from './workload/merchants.ts'
import type { PublicApi } from './workload/public-api.ts'
import type { World } from './world/world.ts'

/**
 * Longer than an upload session (15 minutes, F2) and the time until a claim is checked (10 minutes, F7), also by a clock
 * that is wrong by 200 s: a process may take a place before it notices that.
 */
const SESSION_OVER_MS = 20 * 60_000

/** The effect that forgets the name of a file a day after its end. */
export const FORGETS_NAME = 'forget_name'

/** Within this time every process has compared its clock with its store's again, and acts. */
const CLOCKS_MEASURED_MS = 5_000

/**
 * Longer than everything that is left to do then, such as the longest pause between two scans and the deletion of bytes that
 * came late.
 */
const END_MAX_MS = 200_000

/** What waits for a day: the end of a ready file that nothing uses, and the name of a file that has ended. */
const WAITS = ['expire_unused', FORGETS_NAME]

/**
 * Moves the time behind the end of all upload sessions and judges what is left: every file has a final status, has exactly
 * the bytes that it needs, and holds no place in a quota; and each merchant can upload again (F2, F4).
 */
export async function* endSessions(
  world: World,
  api: PublicApi,
  {
    merchants,
    is_faultless,
    is_restored,
  }: {
    readonly merchants: readonly SimulatedMerchant[]
    readonly is_faultless: boolean
    readonly is_restored: boolean
  },
): AsyncIterable<string> {
  if (!world.databases.has('attachments')) return
  // A restored place can be without its file, until the next prepare frees it (docs/operators/backup.md), and a file without a place.
  if (!is_restored) yield* unfinishedFilesHavePlaces(world)
  if (is_faultless && !is_restored) yield* placesAreFree(world)
  world.machine.advanceWall(SESSION_OVER_MS)
  await sleep(CLOCKS_MEASURED_MS)
  const end_ms = world.scheduler.now_ms() + END_MAX_MS
  while (openProblems(world, WAITS).length > 0 && world.scheduler.now_ms() < end_ms) await sleep(1_000)
  yield* openProblems(world, WAITS)
  for (const { merchant_id, credentials } of merchants) {
    const [credential] = credentials
    if (credential === undefined) continue
    const outcome = await api.call(credential, {
      method: 'attachment.prepare',
      operation_id: 'after the end',
      params: {
        purpose: 'ticket',
        name: 'last.txt',
        mime_type: 'text/plain',
        size: 1,
        sha256: sha256Hex('x'),
      },
    })
    if (outcome.kind !== 'success')
      yield `${merchant_id} cannot upload after the end of all sessions: ${JSON.stringify(outcome)}`
    // A crash can leave a session in the quota until its time is over, and then the next one drops it. No kept place is left.
    const quota = quotasOf(world).find((one) => one.merchant_id === merchant_id && one.sender === 'merchant')
    if (quota?.places.length !== 1 && !is_restored)
      yield `${merchant_id} has ${quota?.places.length} sessions in its quota, of which one is open`
  }
}

/** Each file that is uploaded or scanned has a place in the quota of its sender (F4). */
function* unfinishedFilesHavePlaces(world: World): Iterable<string> {
  const placed = new Set(quotasOf(world).flatMap(({ places }) => places.map((one) => one.attachment_id)))
  for (const { attachment_id, status } of filesOf(world))
    if (NEEDS_PLACE.includes(status) && !placed.has(attachment_id))
      yield `the file ${attachment_id} is ${status} without a place in a quota`
}

/** When nothing fails, each file that was ready or rejected has given its place back at once (F4). */
function* placesAreFree(world: World): Iterable<string> {
  const open = new Set(
    filesOf(world).flatMap(({ status, attachment_id }) =>
      NEEDS_PLACE.includes(status) ? [attachment_id] : [],
    ),
  )
  for (const { merchant_id, places } of quotasOf(world))
    for (const { attachment_id } of places)
      if (!open.has(attachment_id))
        yield `the file ${attachment_id} has ended and still has a place in the quota of ${merchant_id}`
}

const NEEDS_PLACE = ['awaiting_upload', 'uploaded', 'scanning']

function quotasOf({ databases }: Pick<World, 'databases'>): readonly StoredQuota[] {
  return documentsOf<StoredQuota>(databases, 'attachments', 'upload_quotas')
}

/** What is unfinished or too much; nothing when all sessions have ended. Effects of the kinds `waits` may be left. */
export function openProblems({ databases }: World, waits: readonly string[]): readonly string[] {
  const problems: string[] = []
  const files = filesOf({ databases })
  for (const { attachment_id, status, effects, writer } of files) {
    if (status !== 'ready' && status !== 'rejected' && status !== 'expired')
      problems.push(`the file ${attachment_id} is still ${status} after its session`)
    if (writer !== undefined) problems.push(`the file ${attachment_id} still has an upload`)
    const left = effects.filter(({ kind }) => !waits.includes(kind))
    if (left.length > 0)
      problems.push(`the file ${attachment_id} has effects left: ${left.map(({ kind }) => kind)}`)
  }
  const needed = new Set(files.flatMap(({ upload }) => (upload === undefined ? [] : [upload.blob_id])))
  const stored = new Set(
    [...(databases.get('attachments')?.blobs.keys() ?? [])].map((path) => path.split('/').at(-1) ?? ''),
  )
  for (const blob_id of needed) if (!stored.has(blob_id)) problems.push(`the bytes ${blob_id} are gone`)
  for (const blob_id of stored)
    if (!needed.has(blob_id)) problems.push(`the bytes ${blob_id} are needed no more`)
  return problems
}
