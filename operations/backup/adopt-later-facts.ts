import type { DataCheck } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { unmetRequirements } from '../requirements.ts'

/** The roles that state facts about payments, in the order in which an `ordered` backup reads them after payments. */
const LATER_ROLES = ['support', 'balances'] as const satisfies readonly RoleName[]

/** The roles whose checks `adoptLaterFacts` needs. */
export const ADOPTING_ROLES: readonly RoleName[] = ['payments', ...LATER_ROLES]

/**
 * Completes a restored `ordered` backup: what happened to a payment after it was read, and before support and the ledger
 * were, is added to the payment. So no refund or chargeback that they know can be made again. The ledger is read last, and
 * its entries decide. `report` gets each fact, and whether it was added: one of a payment that was created meanwhile cannot
 * be, nor one of an archived payment without its file, and its money could move again. Archived documents from before
 * `archived_since` are left out. Returns a sentence per reason why documents could not be read, whose facts are not known.
 */
export async function adoptLaterFacts(
  checks: ReadonlyMap<RoleName, DataCheck>,
  report: (role: RoleName, subject: string, is_added: boolean, reason?: string) => void,
  archived_since?: Date,
): Promise<readonly string[]> {
  const checkOf = (role: RoleName): DataCheck => {
    const check = checks.get(role)
    if (check === undefined) throw new TypeError(`the check of ${role} is not open`)
    return check
  }
  const reasons = new Map<string, string>()
  for (const role of LATER_ROLES) {
    // One after the other: the entries of a payment build on each other.
    for await (const { requirement } of unmetRequirements(checkOf(role), checks, { archived_since })) {
      const { role: adopting, subject } = requirement
      try {
        // An earlier fact may have brought it, as many are looked up before the first of them is added. Then nothing changes.
        if (await checks.get(adopting)?.adopt?.(requirement)) report(adopting, subject, true)
      } catch (error) {
        if (!(error instanceof ArchiveUnavailable)) throw error
        reasons.set(subject, error.message)
      }
    }
  }
  // Only now: what support says of a refund that was completed can need the entries of the ledger.
  const unreadable = new Map<string, number>()
  for (const role of LATER_ROLES) {
    const onUnreadable = (reason: string): void => {
      const text = `${role}: ${reason}`
      unreadable.set(text, (unreadable.get(text) ?? 0) + 1)
    }
    const options = { onUnreadable, archived_since }
    for await (const { requirement } of unmetRequirements(checkOf(role), checks, options))
      report(requirement.role, requirement.subject, false, reasons.get(requirement.subject))
  }
  return [...unreadable].map(([text, count]) => `${text} (${count} documents)`)
}
