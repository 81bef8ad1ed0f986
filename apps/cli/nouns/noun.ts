import type { DescService, Message } from '@bufbuild/protobuf'
import type { Connection } from '../call/connection.ts'

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
  /** The RPC that reads what an update changes: its amounts are in the currency of that. */
  readonly currency_from?: string
  /** Fields of the request that can take the place of the ID. */
  readonly instead_of_id?: readonly string[]
  /**
   * What `ID` is looked for in: a field of the rows of a list, for a thing that has no RPC of its own, or `payment`, for a payment that
   * any of its identifiers names.
   */
  readonly finds?: string
  /** What it destroys, always or with one value of a field: it needs `--yes` or the answer of a person. */
  readonly confirms?: string | Confirms
  /**
   * The columns of a list, the most important first: paths of fields, such as `payment.amount`. `available:money` is in the currency of
   * its message, `rpc:short` without its package.
   */
  readonly columns?: readonly string[]
  /** What a person does with the rows of a list; a terminal shows it below them. */
  readonly next?: string
  /** The verb of the noun that `--explain` runs instead, with the flags of both. */
  readonly explained_by?: string
  /** The RPC of the same service that `--dry-run` calls instead: what the act would do. An older server refuses it, and acts never. */
  readonly previewed_by?: string
  /** The columns of the CSV of a list, where they differ from the columns of its table. */
  readonly csv_columns?: readonly string[]
  /** The field of the result, such as `error_code`, that says that the act was refused after all. */
  readonly refused_by?: string
  /** Looks at the result of an act, and says what its caller may have missed. */
  readonly warn?: Warn
  /** `--file` is uploaded as evidence first, and fills this field of the request. */
  readonly uploads?: string
  /** Without an ID it changes many things at once, by another RPC of the service; `--dry-run` or `--yes` is needed then. */
  readonly many?: Many
  /** Without an ID it does the same for every row that a list of its service selects; `--dry-run` or `--yes` is needed then. */
  readonly each?: Each
}

/** What is destroyed when a field of the request, such as `status`, has this value. */
interface Confirms {
  readonly what: string
  readonly field: string
  readonly value: unknown
}

/** The RPC that does many at once: its request has a filter, whose fields are flags, and `dry_run`. `progress` shows how far it is. */
interface Many {
  readonly rpc: string
  readonly filter: string
  readonly progress: string
}

/** The list of the things that a command is for, and the fields of its request that are given always. */
interface Each {
  readonly list: string
  readonly fixed: Readonly<Record<string, unknown>>
}

/** Returns sentences about the result of an act; empty when nothing is wrong. */
type Warn = (connection: Connection, result: Message) => Promise<readonly string[]>

/** Loads the generated code of one service, so that a command loads no other. */
export type LoadService = () => Promise<DescService>

/** A kind of thing with its commands. */
export interface Noun {
  readonly service: LoadService
  readonly verbs: readonly Verb[]
}
