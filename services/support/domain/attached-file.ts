/** A file of a ticket, a comment or a chargeback. Its facts never change, so the resource stores them. */
export type AttachedFile = {
  readonly attachment_id: string
  readonly name: string
  readonly mime_type: string
  readonly size_bytes: number
  readonly created_at: Date
}
