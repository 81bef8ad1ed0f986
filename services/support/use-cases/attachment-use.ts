import type { MerchantScope } from '#lib/contract/merchant-scope.ts'

/** One claim of one file, with the values of the `FileClaim` that made it. */
export interface AttachmentUse extends MerchantScope {
  readonly attachment_id: string
  /** `ticket:<id>`, `comment:<id>` or `chargeback:<id>`. */
  readonly claim_owner: string
  /** The ticket of a comment; empty for other owners. */
  readonly ticket_id: string
}

/** Whether the owner with this id, of one kind, was stored and has the file. */
type FileOwner = (use: AttachmentUse, id: string) => Promise<boolean>

/** The kinds of owners of files, by the word before the id in `claim_owner`. */
export type FileOwners = Readonly<Record<'ticket' | 'comment' | 'chargeback', FileOwner>>

/**
 * Whether the owner of a claim was stored and has the file. An owner of a kind that this release does not know counts as one
 * that has the file, so that no file is freed by mistake. The reads are not linearizable, because the owner was stored minutes
 * ago or not at all.
 */
export async function isAttachmentUsed(owners: FileOwners, use: AttachmentUse): Promise<boolean> {
  const [, kind = '', id = ''] = /^([a-z]+):(.*)$/.exec(use.claim_owner) ?? []
  const isUsed = new Map<string, FileOwner>(Object.entries(owners)).get(kind)
  return isUsed === undefined || isUsed(use, id)
}
