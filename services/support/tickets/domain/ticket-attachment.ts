/** A file of a ticket or comment. Its facts never change, so the ticket or comment stores them. */
export type TicketAttachment = {
  readonly attachment_id: string
  readonly name: string
  readonly mime_type: string
  readonly size_bytes: number
  readonly created_at: Date
}
