/** A row of a timeline, as far as its place among others depends on it. */
export interface RowLike {
  readonly kind: string
  readonly refs: readonly { readonly kind: string; readonly id: string }[]
}

/** Rows that belong to one thing: the tries of one delivery. The last one says how it stands. */
export interface RowGroup<R> {
  readonly key: string
  readonly rows: readonly [R, ...R[]]
}

/** The lanes of a timeline, which a person can hide, with the kinds of their rows. */
export const LANES: Readonly<Record<string, readonly string[]>> = {
  payment: ['status', 'refund', 'chargeback', 'anomaly', 'reconciliation'],
  provider: ['attempt', 'provider_report'],
  ledger: ['ledger_entry'],
  callbacks: ['event', 'delivery'],
  people: ['operator_act', 'ticket'],
}

/** Whether a kind of row belongs to a lane. A kind of a newer release belongs to the lane of the payment, so it is seen. */
export function isInLane(kind: string, lane: string): boolean {
  const own = Object.entries(LANES).find(([, kinds]) => kinds.includes(kind))?.[0] ?? 'payment'
  return own === lane
}

/** Groups the tries of each delivery at the place of its first try; every other row is a group of its own. */
export function groupRows<R extends RowLike>(rows: readonly R[]): readonly RowGroup<R>[] {
  const groups = new Map<string, [R, ...R[]]>()
  for (const [index, row] of rows.entries()) {
    const key = row.kind === 'delivery' ? `delivery ${row.refs[0]?.id}` : `row ${index}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return [...groups].map(([key, all]) => ({ key, rows: all }))
}
