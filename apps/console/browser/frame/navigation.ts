/** A page in the navigation. */
export interface NavigationItem {
  readonly path: string
  readonly label: string
  /** The key after `g` that opens it. */
  readonly key: string
  /** The right that it needs. */
  readonly right: string
  /** Whether principals of a merchant have it too. */
  readonly for_merchants: boolean
}
