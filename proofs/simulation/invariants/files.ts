import { recordKey } from '../workload/history.ts'
import { documentsOf, type Evidence, type Invariant } from './judge.ts'

/** The fields of a stored file that the invariants read. */
export interface StoredFile {
  readonly merchant_id: string
  readonly environment: string
  readonly attachment_id: string
  readonly purpose: string
  readonly name: string
  readonly status: string
  readonly sha256: string
  readonly upload?: { readonly blob_id: string; readonly sha256: string }
  readonly writer?: object
  readonly claim?: { readonly used_by: string }
  readonly effects: readonly { readonly kind: string; readonly due_at: Date }[]
}

/** The files of one sender that are uploaded or scanned. */
export interface StoredQuota {
  readonly merchant_id: string
  readonly sender: 'merchant' | 'operator'
  readonly places: readonly {
    readonly attachment_id: string
    readonly size_bytes: number
    readonly is_kept?: true
  }[]
}

interface StoredUser {
  readonly merchant_id: string
  readonly environment: string
  readonly attachments?: readonly { readonly attachment_id: string }[]
  readonly evidence?: readonly { readonly attachment_id: string }[]
}

/** One use of a file: the merchant and environment, the file, and what uses it. */
interface FileUse {
  readonly owner: string
  readonly attachment_id: string
  readonly user: string
  readonly purpose: string
}

/** The collections that use files, with the name of the id of a document and the purpose of its files. */
const USERS = [
  ['tickets', 'ticket', 'ticket_id', 'ticket'],
  ['ticket_comments', 'comment', 'comment_id', 'ticket_comment'],
  ['chargebacks', 'chargeback', 'chargeback_id', 'chargeback_evidence'],
] as const

/** All files. */
export function filesOf({ databases }: Pick<Evidence, 'databases'>): readonly StoredFile[] {
  return documentsOf<StoredFile>(databases, 'attachments', 'attachments')
}

/**
 * Each file is used by one ticket, comment or chargeback at most, of its own merchant and purpose, when it is ready, and the
 * file names that user. A file that names a user is used by it: calls that crashed have given their files back (F7).
 */
export const filesAreUsedOnce: Invariant = function* (evidence) {
  const files = new Map(filesOf(evidence).map((file) => [file.attachment_id, file]))
  const uses = usesOf(evidence)
  for (const [attachment_id, same] of Map.groupBy(uses, (use) => use.attachment_id))
    if (same.length > 1) yield `the file ${attachment_id} is used by ${same.map(({ user }) => user)}`
  for (const { owner, attachment_id, user, purpose } of uses) {
    const file = files.get(attachment_id)
    if (file === undefined || ownerOf(file) !== owner)
      yield `${user} uses the file ${attachment_id}, which its merchant does not have`
    else if (file.status !== 'ready' || file.purpose !== purpose || file.claim?.used_by !== user)
      yield `${user} uses the file ${attachment_id}: ${file.purpose}, ${file.status}, of ${file.claim?.used_by}`
  }
  const used = new Set(uses.map(({ attachment_id, user }) => `${attachment_id} ${user}`))
  for (const { attachment_id, claim } of files.values())
    if (claim !== undefined && !used.has(`${attachment_id} ${claim.used_by}`))
      yield `the file ${attachment_id} is taken by ${claim.used_by}, which does not use it`
}

/** The files that merchants were shown are stored, with the bytes that were announced when they are ready. */
export const shownFilesExist: Invariant = function* (evidence) {
  const { history } = evidence
  if (history.files.size === 0) return
  const files = new Map(
    filesOf(evidence).map((file) => [recordKey(file.merchant_id, file.attachment_id), file]),
  )
  const shown = new Set<string>()
  for (const { merchant_id, number, h_id, final_status, purpose } of history.files.values()) {
    if (h_id === undefined) continue
    const key = recordKey(merchant_id, h_id)
    if (shown.has(key)) yield `the file ${key} was prepared twice`
    shown.add(key)
    const file = files.get(key)
    if (file === undefined) yield `the file ${number} of ${merchant_id} is not stored`
    else if (file.purpose !== purpose || !mayFollow(file, final_status, evidence.is_day_over))
      yield `the file ${number} of ${merchant_id} was ${purpose}, ${final_status}, and is ${file.purpose}, ${file.status}`
  }
}

/** Whether a file may have its status after a status that was shown as final. */
function mayFollow({ status, claim }: StoredFile, shown: string | undefined, is_day_over = false): boolean {
  const is_unused = shown === 'ready' && claim === undefined && is_day_over
  return shown === undefined || status === shown || (status === 'expired' && is_unused)
}

function usesOf({ databases }: Pick<Evidence, 'databases'>): readonly FileUse[] {
  return USERS.flatMap(([collection, kind, id, purpose]) =>
    documentsOf<StoredUser & Readonly<Record<string, unknown>>>(databases, 'support', collection).flatMap(
      (document) =>
        [...(document.attachments ?? []), ...(document.evidence ?? [])].map(({ attachment_id }) => ({
          owner: ownerOf(document),
          attachment_id,
          user: `${kind}:${document[id]}`,
          purpose,
        })),
    ),
  )
}

function ownerOf({ merchant_id, environment }: Pick<StoredFile, 'merchant_id' | 'environment'>): string {
  return `${merchant_id} ${environment}`
}
