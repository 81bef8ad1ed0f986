import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { amountText } from '#lib/contract/shown-values.ts'
import type { Address } from '../values/addresses.ts'
import type { Call } from './call.ts'
import type { FormField, Values } from './fields.ts'

/** What a person sees after the server has answered. */
export interface Outcome {
  /** It is shown once, with a button that copies it, and nowhere kept. */
  readonly secret?: string | undefined
  readonly sentences?: readonly string[]
  /** Where the result is shown. */
  readonly address?: Address | undefined
}

/** What a dry run found: what the act would do, and what a person must write to have it done. */
export interface Preview {
  readonly sentences: readonly string[]
  readonly confirm?: string
}

/** A file that a person has chosen. */
export interface ChosenFile {
  readonly name: string
  readonly size: number
  readonly type: string
  arrayBuffer(): Promise<ArrayBuffer>
}

/** What an act that is more than one call works with. */
export interface Running<T, I extends DescMessage = DescMessage> {
  readonly item: T
  /** The request as the form gives it. */
  readonly request: MessageInitShape<I>
  readonly reason: string
  /** The idempotency key of this decision, which stays the same while the decision is sent again. */
  readonly operation_id: string
  readonly file: ChosenFile | undefined
  readonly call: Call
  /** Sends the bytes of a file as a type to a path of the back office. */
  readonly upload: (path: string, file: ChosenFile, mime_type: string) => Promise<void>
  /** Says how far it is. */
  readonly progress: (sentence: string) => void
  /** Resolves when it is time to ask again how far something is. */
  readonly pause: () => Promise<void>
}

/** Something that a person can do with a resource: one RPC, and the form that makes its request. */
export interface ActSpec<T, I extends DescMessage, O extends DescMessage, P extends DescMessage = O> {
  /** A verb, such as `Approve`. */
  readonly name: string
  /** The RPC. Who may call it, and whether it changes something, is in the table of the operator's RPCs. */
  readonly method: DescMethodUnary<I, O>
  /** Narrower rights than the RPC's, where they depend on the request. */
  readonly rights?: readonly string[]
  /** Whether a person must say why. By default for everything that changes something. */
  readonly reason?: 'required' | 'optional' | 'none'
  /** The keys that begin it, such as `n c`. */
  readonly keys?: string
  readonly isOffered?: (item: T) => boolean
  /** What it will do, as sentences that a person reads before: amounts, from, to, what cannot be undone. */
  readonly effects: (item: T) => readonly string[]
  readonly fields?: (item: T) => readonly FormField[]
  /** The fields show what the resource has, and only what was changed is sent. */
  readonly edits?: boolean
  /** The fields of the request that the resource gives. */
  readonly request?: (item: T, values: Values) => MessageInitShape<I>
  /** What a person must write before it is done, because it cannot be undone. */
  readonly confirm?: (item: T) => string
  /** The RPC that says what the act would do, and is always called first. Its request has the fields of the act's by the same names. */
  readonly previewed_by?: DescMethodUnary<DescMessage, P>
  /** What the answer to `previewed_by` or to a dry run says. An RPC with the field `dry_run` is always tried so first. */
  readonly preview?: (answer: MessageShape<P>, running: Running<T, I>) => Promise<Preview>
  /** The button of the dry run, by default `Count them`. */
  readonly preview_name?: string
  /** What to show of the answer. */
  readonly outcome?: (answer: MessageShape<O>, item: T) => Outcome
  /** Does it, where one call is not all. */
  readonly run?: (running: Running<T, I>) => Promise<Outcome>
}

/** An act on a resource, whatever its RPC is. */
export type Act<T> = ActSpec<T, DescMessage, DescMessage>

/** Declares an act, and checks the types of its request and answer. */
export function act<T, I extends DescMessage, O extends DescMessage, P extends DescMessage = O>(
  spec: ActSpec<T, I, O, P>,
): Act<T> {
  return spec as unknown as Act<T>
}

/** What a person sees after a secret was issued. A late repetition shows none: the secret itself was replaced all the same. */
export function issuedSecret(secret: string, sentences: readonly string[] = []): Outcome {
  if (secret !== '') return { secret, sentences }
  return {
    sentences: [
      ...sentences,
      'It was done before, and its secret is not shown again. If it is lost, replace it.',
    ],
  }
}

/** An amount in a sentence about an act. */
export function moneyWords(money: { readonly minor: bigint; readonly currency: string } | undefined): string {
  return money === undefined ? 'an amount' : amountText(money.minor, money.currency, { is_minor: false })
}
