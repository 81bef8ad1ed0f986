import type { DescService } from '@bufbuild/protobuf'

/** One command of a noun: `multihub refunds approve ID`. */
export interface Verb {
  readonly name: string
  /** What it does, in one line of the help. */
  readonly about: string
  /** The RPC, as `approveRefund`, of the service of the noun or of `service`. */
  readonly rpc: string
  readonly service?: LoadService
  /** The field of the request that the argument `ID` fills, such as `refund_id`. */
  readonly id?: string
  /** Fields of the request that are given always. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** The columns of a list: paths of fields, such as `payment.amount`. `available:money` is in the currency of its message. */
  readonly columns?: readonly string[]
  /** It changes many things at once: `--yes` or `--dry-run` is needed when no ID is given. */
  readonly is_bulk?: true
}

/** Loads the generated code of one service, so that a command loads no other. */
export type LoadService = () => Promise<DescService>

/** A kind of thing with its commands. */
export interface Noun {
  readonly service: LoadService
  readonly verbs: readonly Verb[]
}
