import { defineStoreComment } from '../../domain/comment-thread.ts'
import type { AttachedFile, MerchantScope } from '../../domain/support-resource.ts'

/** The side that wrote a comment. Nothing stored says which person it was. */
type CommentAuthor = 'merchant' | 'support'

/** A comment of a ticket, as it is stored. */
export interface Comment extends MerchantScope {
  readonly ticket_id: string
  /** Its public `h_id`. */
  readonly comment_id: string
  readonly author: CommentAuthor
  readonly body: string
  readonly attachments: readonly AttachedFile[]
  readonly created_at: Date
  readonly updated_at: Date
  /** The creation, in a comment that the merchant sees. An internal note has none. */
  readonly shown_at?: Date
  /** The ids of the operations that edited it, so that none of them acts twice. */
  readonly edits: readonly string[]
}

type WithoutLists = Omit<Comment, 'edits' | 'attachments'>

/** A comment as an effect carries it: the type of the values that a store accepts has no read-only lists. */
export type CarriedTicketComment = { [Field in keyof WithoutLists]: WithoutLists[Field] } & {
  edits: string[]
  attachments: AttachedFile[]
}

/** The effect that stores a comment which its ticket has accepted. */
export const storeCommentEffect = defineStoreComment<CarriedTicketComment>()
