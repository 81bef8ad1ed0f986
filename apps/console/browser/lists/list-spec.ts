import type { DescMessage, DescMethodUnary, Message } from '@bufbuild/protobuf'
import type { ReactNode } from 'react'
import type { Act } from '../../forms/act.ts'
import type { Filters } from '../../values/filter-tokens.ts'

/** A page that is a list of one kind of resource, with the details of the one that is open. */
export interface ListSpec<T extends Message = Message> {
  readonly path: string
  readonly title: string
  /** What the page answers, in a sentence. */
  readonly question: string
  /** The descriptor of the resource. */
  readonly desc: DescMessage
  readonly list: DescMethodUnary
  /** The field of the answer with the resources, by its local name. */
  readonly items: string
  /** The field of the resource that identifies it, by its local name. */
  readonly id: string
  /** Fields of the resource, by their names in the proto. */
  readonly columns: readonly string[]
  readonly filters: Filters
  /** Fields of the request that are always set. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** The RPC that reads one resource. A list that is read as a whole needs none. */
  readonly get?: SingleRead
  /** Where a row leads, for a resource with a page of its own. */
  readonly folder?: string
  readonly acts?: readonly Act<T>[]
  /** How cells are shown that are more than their value, by the names of their fields. */
  readonly cells?: Readonly<Record<string, (item: T) => ReactNode>>
  /** What the details show next to the fields of the resource. */
  readonly more?: (item: T) => ReactNode
  /** Fields that `more` shows, and the details do not. */
  readonly without?: readonly string[]
  /** Filters without which the server has no answer. */
  readonly needs?: readonly string[]
  /** What a person can choose where such a filter is missing. */
  readonly choices?: ReactNode
  /** What is shown above the list, by the fields of the request that the filters set. */
  readonly above?: (request: Readonly<Record<string, unknown>>) => ReactNode
  /** What an empty list means. */
  readonly empty: string
}

/** An RPC that reads one resource by its id. */
export interface SingleRead {
  readonly method: DescMethodUnary
  /** The field of the answer with the resource. */
  readonly field: string
  /** Fields of the request of the list, by their local names, without which the id names nothing. */
  readonly of_list?: readonly string[]
}

/** A page of a list. */
interface ListAnswer {
  readonly items: readonly Message[]
  /** The token of the next page; empty on the last one. */
  readonly next: string
}

/** Reads the answer of the RPC of a list. */
export function answerOf<T extends Message>({ items }: ListSpec<T>, message: Message): ListAnswer {
  return { items: Reflect.get(message, items), next: Reflect.get(message, 'nextPageToken') ?? '' }
}
