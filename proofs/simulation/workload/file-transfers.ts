import type { FileRecord } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'
import type { SupportDeps } from './mutations.ts'

/** What is done with the bytes of an upload, by weight. */
const UPLOADS = [
  [6, 'whole'],
  [1, 'cut'],
  [1, 'other'],
] as const

/** Sends the bytes of a file, or others of the same length, or only a part of them. */
export async function upload(
  { api, choices }: SupportDeps,
  _merchant: SimulatedMerchant,
  file: FileRecord,
): Promise<void> {
  const { upload_path, content } = file
  if (upload_path === undefined) return
  const kind = choices.weighted(UPLOADS)
  if (kind === 'other') file.may_differ = true
  const bytes = kind === 'other' ? Buffer.alloc(content.length, 'x') : content
  const response = await api.transfer({
    method: 'PUT',
    path: upload_path,
    headers: { 'content-type': 'text/plain', 'content-length': String(content.length) },
    body: kind === 'cut' ? bytes.subarray(0, choices.integer(0, bytes.length - 1)) : bytes,
    is_cut: kind === 'cut',
  })
  if (kind === 'whole' && response?.status === 200) file.is_uploaded = true
}

/** Downloads a file that is ready. Its bytes must be those that were announced. */
export async function download(
  { api, history, choices }: SupportDeps,
  { credentials }: SimulatedMerchant,
  { h_id, number, merchant_id, content }: FileRecord,
): Promise<void> {
  if (h_id === undefined) return
  const params = { attachment: { h_id } }
  const outcome = await api.call(choices.pick(credentials), { method: 'attachment.get', params })
  if (outcome.kind !== 'success') return
  const { url } = (outcome.result as { download: { url: string } }).download
  const headers = {}
  const path = new URL(url).pathname
  const response = await api.transfer({ method: 'GET', path, headers, body: Buffer.alloc(0) })
  if (response?.status === 200 && !response.body.equals(content))
    history.problems.push(`the file ${number} of ${merchant_id} was downloaded as ${response.body}`)
}
