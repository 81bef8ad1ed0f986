import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { TicketAttachmentSchema } from '#gen/multihub/support/v1/ticket_pb.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'

/** A merchant's ticket or refund by one of its public identifiers. */
export interface ResourceQuery extends MerchantScope {
  readonly by: 'c_id' | 'h_id'
  readonly id: string
}

/** The payment that a resource of support is about. Its identifiers never change, so the resource stores them. */
export interface PaymentReference {
  readonly payment_id: string
  readonly c_id: string
  readonly h_id: string
}

/** A file of a ticket, a comment or a chargeback. Its facts never change, so the resource stores them. */
export type AttachedFile = {
  readonly attachment_id: string
  readonly name: string
  readonly mime_type: string
  readonly size_bytes: number
  readonly created_at: Date
  /** Whether a spreadsheet would run cells of it (F3). */
  readonly has_formulas?: true
}

/** Whether a file is among the files of a resource. */
export function hasFile(files: readonly AttachedFile[], attachment_id: string): boolean {
  return files.some((file) => file.attachment_id === attachment_id)
}

/** The file as RPCs and events carry it with its resource. */
export function fileToProto(file: AttachedFile): MessageInitShape<typeof TicketAttachmentSchema> {
  return {
    attachmentId: file.attachment_id,
    name: file.name,
    mimeType: file.mime_type,
    sizeBytes: BigInt(file.size_bytes),
    createTime: timestampFromDate(file.created_at),
    hasFormulas: file.has_formulas ?? false,
  }
}

/** The longest reason or note, in characters (S7). */
export const REASON_MAX = 500

/** The longest comment, in characters (S1). */
export const COMMENT_MAX = 5_000

/** How often a merchant can edit or reopen one ticket, or edit one comment: their operations are stored with it. */
export const OPERATIONS_MAX = 100

/** How long after its creation the merchant can edit a description or a comment (spec: Limits). */
const EDIT_WINDOW_MS = 3_600_000

/** Whether a description or comment can be edited: within an hour of its creation, to the millisecond, 100 times at most. */
export function isEditable(
  { created_at, edits }: { readonly created_at: Date; readonly edits: readonly string[] },
  at: Date,
): boolean {
  return at.getTime() - created_at.getTime() <= EDIT_WINDOW_MS && edits.length < OPERATIONS_MAX
}
