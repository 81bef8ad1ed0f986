/** What a principal may do (O1, O2). Each right includes `read`. */
export const RIGHTS = ['read', 'support', 'money', 'admin', 'reveal', 'rotate'] as const

/** The name of a right. */
export type Right = (typeof RIGHTS)[number]

/** The rights that a principal of a merchant may have: it reads, and replaces its own secrets (O2). */
export const MERCHANT_RIGHTS: readonly Right[] = ['read', 'reveal', 'rotate']

/** Whether someone with `held` may do what needs one of `needed`. */
export function hasRight(held: readonly Right[], needed: readonly Right[]): boolean {
  return needed.some((right) => (right === 'read' ? held.length > 0 : held.includes(right)))
}
