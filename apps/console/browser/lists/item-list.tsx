import type { DescMessage, DescMethodUnary, Message } from '@bufbuild/protobuf'
import type { ReactNode } from 'react'
import type { Act } from '../../forms/act.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { Text } from '../parts/text.tsx'
import { Facts, State } from '../parts/values.tsx'

/** What belongs to a page and is shown as a whole, such as the routes of a merchant. */
export interface ItemListSpec<T> {
  readonly title: string
  readonly method: DescMethodUnary
  /** The field of the answer with the items, by its local name. */
  readonly items: string
  readonly desc: DescMessage
  /** The fields by which a person knows an item, by their local names; the first ones identify it. */
  readonly names: readonly string[]
  readonly acts: readonly Act<T>[]
  /** What is shown above the fields of an item, such as a warning. */
  readonly above?: (item: T) => ReactNode
}

/** The items of a part of a page, one after the other, with what can be done with each. */
export function ItemList<T>({
  spec: { title, method, items, desc, names, acts, above },
  request,
  children,
}: {
  readonly spec: ItemListSpec<T>
  readonly request: object
  /** What stands between the title and the items. */
  readonly children?: ReactNode
}): ReactNode {
  const { data, error } = useRpc(method, request as never)
  const all: readonly Message[] = data === undefined ? [] : Reflect.get(data, items)
  return (
    <section>
      <h2>{title}</h2>
      {children}
      {error !== null && <ProblemNote error={error} />}
      {data !== undefined && all.length === 0 && <p className="quiet">None.</p>}
      {all.map((item) => (
        <details key={wordsOf(names, item).join(' ')} open={all.length < 3}>
          <summary>
            <Text>{wordsOf(names, item).join(' · ')}</Text>{' '}
            {Reflect.get(item, 'enabled') === false && <State word="disabled" />}
          </summary>
          {above?.(item as T)}
          <ActBar acts={acts} item={item as T} is_main={false} />
          <Facts desc={desc} message={item} without={['merchant_id']} />
        </details>
      ))}
      {data !== undefined && (Reflect.get(data, 'nextPageToken') ?? '') !== '' && (
        <p>There are more than these {all.length}.</p>
      )}
    </section>
  )
}

function wordsOf(names: readonly string[], item: Message): readonly string[] {
  return names.flatMap((name) => {
    const value: unknown = Reflect.get(item, name)
    return typeof value === 'string' && value !== '' ? [value] : []
  })
}
