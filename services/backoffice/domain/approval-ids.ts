/** Far more than the approvals of one principal or policy whose calls can still be repeated at the same time. */
const KEPT_MAX = 16

/** A document of the back office that keeps by which approvals it was changed: a repetition of such a call changes nothing (O5). */
export type ChangedByApprovals = {
  /** The ids of the last 16, the newest last. */
  readonly approval_ids?: readonly string[]
}

/** Whether a call of this approval has changed the document before. A call without an approval is never a repetition. */
export function isRepetition(
  document: ChangedByApprovals | undefined,
  approval_id: string | undefined,
): boolean {
  return approval_id !== undefined && document?.approval_ids?.includes(approval_id) === true
}

/** The field after a change: with the id of its approval, if it has one. */
export function withApproval(
  document: ChangedByApprovals | undefined,
  approval_id: string | undefined,
): ChangedByApprovals {
  const { approval_ids } = document ?? {}
  if (approval_id === undefined) return approval_ids === undefined ? {} : { approval_ids }
  return { approval_ids: [...(approval_ids ?? []), approval_id].slice(-KEPT_MAX) }
}
