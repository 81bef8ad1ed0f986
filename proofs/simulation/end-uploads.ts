import { sleep } from '#lib/base/time.ts'
import type { Plan } from './faults/plan.ts'
import { prepare } from './workload/file-desk.ts'
import { upload } from './workload/file-transfers.ts'
import { type FileRecord, recordKey } from './workload/history.ts'
import type { SimulatedMerchant } from './workload/merchants.ts'
import type { SupportDeps } from './workload/mutations.ts'
import type { World } from './world/world.ts'

/** Longer than the lease of an upload (F2). */
const LEASE_OVER_MS = 16_000

/** Within this time every process has compared its clock with its store's again, and acts. */
const CLOCKS_MEASURED_MS = 5_000

/** How often it is done: some uploads break off, and some processes are killed too late. */
const ROUNDS = 2

/** Bytes that are not stored by then will not be. */
const STORED_MAX_MS = 100

/** Far above the numbers of the files of the load. */
const FIRST_NUMBER = 1_000_000

/**
 * Kills the processes that keep files during an upload of each merchant, and uploads again when the lease of the first
 * upload is over. The load is shorter than that lease. What the first upload has stored must be deleted (F2).
 */
export async function killUploads(
  world: World,
  plan: Plan,
  deps: Omit<SupportDeps, 'choices'>,
  merchants: readonly SimulatedMerchant[],
): Promise<void> {
  if (!plan.has_files || !plan.faults.has('process is killed')) return
  const choices = world.choicesOf('killed uploads')
  const all: SupportDeps = { ...deps, choices }
  const places = world.cluster.places.filter(({ roles }) => roles.includes('attachments'))
  for (let round = 0; round < ROUNDS; round += 1) {
    const sent: (readonly [SimulatedMerchant, FileRecord])[] = []
    for (const merchant of merchants) {
      const file = newFile(merchant, FIRST_NUMBER + round)
      deps.history.files.set(recordKey(file.merchant_id, `${file.number}`), file)
      await prepare(all, merchant, file)
      sent.push([merchant, file])
    }
    const stored = countBlobs(world)
    const uploads = sent.map(([merchant, file]) => upload(all, merchant, file))
    const end_ms = world.scheduler.now_ms() + STORED_MAX_MS
    while (countBlobs(world) === stored && world.scheduler.now_ms() < end_ms) await sleep(0.1)
    await sleep(choices.between(0, 1))
    for (const place of places) world.cluster.kill(place)
    await Promise.all([...uploads, ...places.map((place) => world.cluster.start(place))])
    world.machine.advanceWall(LEASE_OVER_MS)
    await sleep(CLOCKS_MEASURED_MS)
    await Promise.all(sent.map(([merchant, file]) => upload(all, merchant, file)))
  }
}

function countBlobs({ databases }: World): number {
  return databases.get('attachments')?.blobs.size ?? 0
}

function newFile({ merchant_id }: SimulatedMerchant, number: number): FileRecord {
  const content = Buffer.from(`file ${number} of ${merchant_id}`)
  return { merchant_id, purpose: 'ticket', number, content }
}
