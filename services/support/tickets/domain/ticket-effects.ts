import { defineStoreComment } from '../../domain/comment-thread.ts'
import type { CarriedTicketComment } from './comment.ts'

/** The effect that stores a comment which its ticket has accepted. */
export const storeCommentEffect = defineStoreComment<CarriedTicketComment>()
