import { amountText } from '#lib/contract/shown-values.ts'

/** What a person has decided in the dialog of an act. */
export interface Intent {
  readonly reason: string
  /** The idempotency key of this decision. It stays the same while the decision is sent again unchanged. */
  readonly operation_id: string
  readonly inputs: Readonly<Record<string, string>>
}

/** A field of the dialog of an act, next to the reason. */
export interface ActInput {
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'lines' | 'choice' | 'time'
  readonly choices?: readonly string[]
  readonly is_optional?: boolean
  readonly initial?: string
}

/** Something that a person can do with a resource. */
export interface Act<T> {
  /** A verb, such as `Approve`. */
  readonly name: string
  /** One of these rights is needed; without it the button is absent, and the server refuses the call. */
  readonly rights: readonly string[]
  readonly isOffered: (item: T) => boolean
  /** What it will do, as sentences that a person reads before: amounts, from, to, what cannot be undone. */
  readonly effects: (item: T) => readonly string[]
  readonly inputs?: readonly ActInput[]
  /** Calls the server. A returned text, such as a new token, is shown once. */
  readonly run: (item: T, intent: Intent) => Promise<string | undefined>
}

/** An amount in a sentence about an act. */
export function moneyWords(money: { readonly minor: bigint; readonly currency: string } | undefined): string {
  return money === undefined ? 'an amount' : amountText(money.minor, money.currency, { is_minor: false })
}
