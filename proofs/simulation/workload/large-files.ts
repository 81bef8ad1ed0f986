import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { recordKey } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'
import type { SupportDeps } from './mutations.ts'

/** The most bytes that the unfinished files of one sender have together (F4). */
const UNFINISHED_BYTES_MAX = 100 * 1024 * 1024
/** The size of the largest file (F1); ten of them use up a quota. */
const LARGE_BYTES = 10 * 1024 * 1024
/** How many are announced at once, and how many there are, so that announcements are repeated too. */
const AT_ONCE = 7
const LARGE_FILES = 12

/** Announces large files that are never sent. Their sessions use up the quota of the merchant (F4). */
export async function announceLargeFiles(deps: SupportDeps, merchant: SimulatedMerchant): Promise<void> {
  const first = deps.choices.integer(0, LARGE_FILES - 1)
  const numbers = Array.from({ length: AT_ONCE }, (_, index) => (first + index) % LARGE_FILES)
  await Promise.all(numbers.map((number) => announce(deps, merchant, number)))
}

async function announce(deps: SupportDeps, merchant: SimulatedMerchant, number: number): Promise<void> {
  const { history } = deps
  const { merchant_id } = merchant
  history.large_files.add(recordKey(merchant_id, `${number}`))
  const file = { name: `large-${number}.txt`, mime_type: 'text/plain', size: LARGE_BYTES }
  const params = { purpose: 'ticket', ...file, sha256: sha256Hex(`large ${number} of ${merchant_id}`) }
  const outcome = await deps.api.call(deps.choices.pick(merchant.credentials), {
    method: 'attachment.prepare',
    operation_id: `prepare-large-${number}`,
    params,
  })
  const { bucket } = (outcome.kind === 'error' ? outcome.details : {}) as { bucket?: string }
  if (bucket === 'attachment_bytes' && announcedBytes(deps, merchant_id) <= UNFINISHED_BYTES_MAX)
    history.problems.push(`${merchant_id} has no room for the large file ${number}, and announced less`)
}

/** The bytes of all files that a merchant has announced; no more can be unfinished. */
function announcedBytes({ history }: Pick<SupportDeps, 'history'>, merchant_id: string): number {
  const isOurs = (key: string): boolean => key.startsWith(`${merchant_id} `)
  const large = [...history.large_files].filter(isOurs).length * LARGE_BYTES
  const small = [...history.files.values()].filter((file) => file.merchant_id === merchant_id)
  return small.reduce((sum, { content }) => sum + content.length, large)
}
