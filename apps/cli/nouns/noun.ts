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
  /** Without an ID it changes many things at once, by another RPC of the service; `--dry-run` or `--yes` is needed then. */
  readonly many?: Many
}

/** The RPC that does many at once: its request has a filter, whose fields are flags, and `dry_run`. */
interface Many {
  readonly rpc: string
  readonly filter: string
}

/** Loads the generated code of one service, so that a command loads no other. */
export type LoadService = () => Promise<DescService>

/** A kind of thing with its commands. */
export interface Noun {
  readonly service: LoadService
  readonly verbs: readonly Verb[]
}
