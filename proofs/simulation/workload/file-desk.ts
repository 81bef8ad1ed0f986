import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { sleep } from '#lib/base/time.ts'
import { INFECTION } from '../world/scanner.ts'
import { download, upload } from './file-transfers.ts'
import { useFile } from './file-uses.ts'
import { type FileRecord, recordKey } from './history.ts'
import { announceLargeFiles } from './large-files.ts'
import type { SimulatedMerchant } from './merchants.ts'
import type { SupportDeps } from './mutations.ts'
import type { PublicOutcome } from './public-api.ts'

/** How many files are in work at once: far more than a merchant may have open sessions would only be refused. */
const FILES_IN_WORK = 4
/** How many acts there are at once, because many wait for something that fails. */
const ACTS_AT_ONCE = 3
/** How many acts there are for each new file, on average. */
const ACTS_PER_FILE = 12
const INFECTED = 0.15

const PURPOSES = ['ticket', 'ticket', 'ticket_comment', 'chargeback_evidence'] as const

/**
 * A merchant that uploads files and uses them in tickets and comments, and an operator that adds evidence. Each step is
 * repeated and done out of order, some uploads break off or have other bytes, some files are infected, and several tickets
 * want the same file, also another merchant's.
 */
export async function runFileDesk(deps: SupportDeps, merchant: SimulatedMerchant): Promise<void> {
  const { choices, isOpen } = deps
  let acts = 0
  const work = async (): Promise<void> => {
    while (isOpen()) {
      const newest = Math.floor(acts / ACTS_PER_FILE)
      acts += 1
      const file = fileOf(deps, merchant, Math.max(0, newest - choices.integer(0, FILES_IN_WORK - 1)))
      const act = choices.chance(IN_ORDER) ? nextAct(file) : choices.weighted(ACTS)
      const times = choices.chance(TWICE) ? 2 : 1
      await Promise.all(Array.from({ length: times }, () => act(deps, merchant, file)))
      await sleep(choices.between(0, choices.pick([5, 50, 400])))
    }
  }
  await Promise.all(Array.from({ length: ACTS_AT_ONCE }, work))
}

/** How often the act brings the file to its use. Otherwise few files would get there. */
const IN_ORDER = 0.7
/** How often the same is done twice at the same time. */
const TWICE = 0.2

type Act = (deps: SupportDeps, merchant: SimulatedMerchant, file: FileRecord) => Promise<void>

const ACTS: readonly (readonly [weight: number, act: Act])[] = [
  [3, prepare],
  [4, upload],
  [3, finalize],
  [2, readStatus],
  [1, download],
  [5, useFile],
  [0.3, announceLargeFiles],
]

/** The next act on the way of a file, as far as responses have shown it. */
function nextAct({ h_id, is_uploaded = false, is_finalized = false, final_status }: FileRecord): Act {
  if (h_id === undefined) return prepare
  if (!is_uploaded) return upload
  if (!is_finalized) return finalize
  return final_status === undefined ? readStatus : useFile
}

function fileOf(
  { history, choices }: SupportDeps,
  { merchant_id }: SimulatedMerchant,
  number: number,
): FileRecord {
  const key = recordKey(merchant_id, `${number}`)
  const existing = history.files.get(key)
  if (existing !== undefined) return existing
  const infection = choices.chance(INFECTED) ? INFECTION : ''
  const content = Buffer.from(
    `file ${number} of ${merchant_id} ${infection}`.padEnd(choices.integer(64, 512), '.'),
  )
  const record: FileRecord = { merchant_id, purpose: choices.pick(PURPOSES), number, content }
  history.files.set(key, record)
  return record
}

/** The name, the type, the length and the digest of a file. */
function announced({ content, number }: FileRecord) {
  return { name: `${number}.txt`, size: content.length, sha256: sha256Hex(content) }
}

/** Announces a file, again if it was announced before. */
export async function prepare(
  deps: SupportDeps,
  merchant: SimulatedMerchant,
  file: FileRecord,
): Promise<void> {
  const { purpose, number } = file
  const { name, size, sha256 } = announced(file)
  const operation_id = `prepare-${number}`
  if (purpose === 'chargeback_evidence') {
    const announcement = { name, mimeType: 'text/plain', sizeBytes: BigInt(size), sha256 }
    const { merchant_id: merchantId, environment } = merchant
    await deps
      .operator(AttachmentService)
      .prepareEvidence({ merchantId, environment, operationId: operation_id, file: announcement })
      .then(
        ({ attachment, upload: link }) => observePrepared(deps, file, attachment?.attachmentId, link?.path),
        () => {},
      )
    return
  }
  const params = { purpose, name, mime_type: 'text/plain', size, sha256 }
  const outcome = await call(deps, merchant, { method: 'attachment.prepare', operation_id, params })
  if (outcome.kind !== 'success') return
  const { attachment, upload: link } = outcome.result as {
    attachment: { identifiers: { h_id: string } }
    upload: { url: string }
  }
  observePrepared(deps, file, attachment.identifiers.h_id, new URL(link.url).pathname)
}

/** A repetition of a prepare must name the same file. */
function observePrepared(
  { history }: SupportDeps,
  file: FileRecord,
  h_id: string | undefined,
  path: string | undefined,
): void {
  const { merchant_id, number } = file
  if (file.h_id !== undefined && file.h_id !== h_id)
    history.problems.push(`the file ${number} of ${merchant_id} was ${file.h_id}, and is ${h_id} now`)
  if (h_id !== undefined) file.h_id = h_id
  if (path !== undefined) file.upload_path = path
}

async function finalize(deps: SupportDeps, merchant: SimulatedMerchant, file: FileRecord): Promise<void> {
  const { purpose, number, h_id } = file
  if (h_id === undefined) return
  const operation_id = `finalize-${number}`
  if (purpose === 'chargeback_evidence') {
    const { merchant_id: merchantId, environment } = merchant
    await deps
      .operator(AttachmentService)
      .finalizeEvidence({ merchantId, environment, operationId: operation_id, attachmentId: h_id })
      .then(
        () => {
          file.is_finalized = true
        },
        () => {},
      )
    return
  }
  const params = { attachment: { h_id } }
  const outcome = await call(deps, merchant, { method: 'attachment.finalize', operation_id, params })
  if (outcome.kind === 'success') file.is_finalized = true
}

/** Statuses that no other one follows while the file is used or a day has not passed. */
const FINAL_STATUSES = ['ready', 'rejected']

async function readStatus(deps: SupportDeps, merchant: SimulatedMerchant, file: FileRecord): Promise<void> {
  const { h_id, number, merchant_id, final_status } = file
  if (h_id === undefined) return
  const params = { attachment: { h_id } }
  const outcome = await call(deps, merchant, { method: 'attachment.status', params })
  if (outcome.kind === 'error' && outcome.code === 13001)
    deps.history.problems.push(`the file ${number} of ${merchant_id} was prepared, and is not found`)
  if (outcome.kind !== 'success') return
  const { status } = outcome.result as { status: string }
  if (final_status !== undefined && status !== final_status)
    deps.history.problems.push(`the file ${number} of ${merchant_id} was ${final_status}, and is ${status}`)
  if (FINAL_STATUSES.includes(status)) file.final_status = status
}

function call(
  { api, choices }: SupportDeps,
  { credentials }: SimulatedMerchant,
  body: object,
): Promise<PublicOutcome> {
  return api.call(choices.pick(credentials), body)
}
