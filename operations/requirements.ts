import type { DataCheck, RequirementOptions } from '#lib/role/operations.ts'
import type { Finding, Requirement } from '#lib/role/requirement.ts'
import type { RoleName } from '#lib/role/role.ts'

/** How many requirements are looked up at once. */
const LOOKUPS_MAX = 64

/** A requirement that another role does not meet, and what the lookup came to. */
interface Unmet {
  readonly requirement: Requirement
  readonly finding: Exclude<Finding, 'found'>
}

/**
 * What other roles must have and do not, or not as the documents of the checked role state it, in the order of those
 * documents. Roles without a check in `checks` are not asked.
 */
export async function* unmetRequirements(
  check: DataCheck,
  checks: ReadonlyMap<RoleName, DataCheck>,
  options?: RequirementOptions,
): AsyncGenerator<Unmet> {
  let lookups: Promise<Unmet | undefined>[] = []
  const unmet = async (): Promise<Unmet[]> => {
    const results = await Promise.all(lookups)
    lookups = []
    return results.filter((result) => result !== undefined)
  }
  for await (const requirement of check.listRequirements?.(options) ?? []) {
    lookups.push(
      findIn(checks, requirement).then((finding) =>
        finding === 'found' ? undefined : { requirement, finding },
      ),
    )
    if (lookups.length === LOOKUPS_MAX) yield* await unmet()
  }
  yield* await unmet()
}

async function findIn(checks: ReadonlyMap<RoleName, DataCheck>, requirement: Requirement): Promise<Finding> {
  const holder = checks.get(requirement.role)
  if (holder?.find === undefined) return 'found'
  if (requirement.event !== undefined && !(await checks.get('merchants')?.subscribes?.(requirement)))
    return 'found'
  const finding = await holder.find(requirement)
  return finding === 'missing' && requirement.is_reported ? 'found' : finding
}
