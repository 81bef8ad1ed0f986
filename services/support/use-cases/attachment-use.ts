import type { MerchantScope } from '#lib/contract/merchant-scope.ts'

/** One claim of one file, with the values of the `FileClaim` that made it. */
export interface AttachmentUse extends MerchantScope {
  readonly attachment_id: string
  /** `ticket:<id>`, `comment:<id>` or `chargeback:<id>`. */
  readonly used_by: string
  /** The ticket of a comment; empty for other users. */
  readonly ticket_id: string
}

/** Whether the user with this id, of one kind, was stored and has the file. */
type FileUser = (use: AttachmentUse, id: string) => Promise<boolean>

/** The kinds of users of files, by the word before the id in `used_by`. */
export type FileUsers = Readonly<Record<'ticket' | 'comment' | 'chargeback', FileUser>>

/**
 * Whether the user of a claim was stored and has the file. A user of a kind that this release does not know counts as one
 * that has the file, so that no file is freed by mistake. The reads are not linearizable, because the user was stored
 * minutes ago or not at all.
 */
export async function isAttachmentUsed(users: FileUsers, use: AttachmentUse): Promise<boolean> {
  const [, kind = '', id = ''] = /^([a-z]+):(.*)$/.exec(use.used_by) ?? []
  const isUsed = new Map<string, FileUser>(Object.entries(users)).get(kind)
  return isUsed === undefined || isUsed(use, id)
}
