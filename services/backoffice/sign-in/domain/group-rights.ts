import { RIGHTS, type Right } from '../../domain/rights.ts'

/** The rights that each group of the OpenID provider gives. */
export type GroupRights = ReadonlyMap<string, readonly Right[]>

/** Reads `group=right+right`, separated by commas. `undefined` for anything else, also for a group that is named twice. */
export function parseGroupRights(text: string): GroupRights | undefined {
  const parsed = new Map<string, readonly Right[]>()
  for (const part of text.split(',')) {
    const at = part.lastIndexOf('=')
    const group = part.slice(0, Math.max(0, at)).trim()
    const named = part.slice(at + 1).split('+')
    const rights = RIGHTS.filter((right) => named.some((name) => name.trim() === right))
    if (group === '' || rights.length !== named.length || parsed.has(group)) return undefined
    parsed.set(group, rights)
  }
  return parsed
}

/** The rights of a person in these groups, in the order of `RIGHTS`. Groups that are not configured give none. */
export function rightsOfGroups(group_rights: GroupRights, groups: readonly string[]): readonly Right[] {
  const given = new Set(groups.flatMap((group) => group_rights.get(group) ?? []))
  return RIGHTS.filter((right) => given.has(right))
}

/** Whether any group has the right `admin` (O15). */
export function hasAdminGroup(group_rights: GroupRights): boolean {
  return [...group_rights.values()].some((rights) => rights.includes('admin'))
}
