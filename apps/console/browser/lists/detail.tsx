import type { Message } from '@bufbuild/protobuf'
import type { InfiniteData } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import type { Address } from '../../values/addresses.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { queries, useRpc } from '../call/use-rpc.ts'
import { useKeys } from '../parts/keys.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PageLink } from '../parts/text.tsx'
import { Facts } from '../parts/values.tsx'
import { listKeyOf } from './list-key.ts'
import type { ListSpec, SingleRead } from './list-spec.ts'

/** Everything that is known of the resource that is open, and what can be done with it. */
export function Detail<T extends Message>({
  spec,
  request,
  id,
  close,
}: {
  readonly spec: ListSpec<T>
  /** What the filters of the list ask for. */
  readonly request: Readonly<Record<string, unknown>>
  readonly id: string
  readonly close: Address
}): ReactNode {
  const navigate = useNavigate()
  const heading = useRef<HTMLHeadingElement>(null)
  const leave = (): void => void navigate({ to: close.path, search: (close.search ?? {}) as never })
  useKeys({ ['Escape']: leave })
  useEffect(() => heading.current?.focus(), [])
  return (
    <aside className="detail" aria-label="Details">
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {spec.title}: details
        </h2>
        <PageLink to={close} className="button">
          Close
        </PageLink>
      </header>
      {spec.get === undefined ? (
        <FromList spec={spec} id={id} request={request} />
      ) : (
        <FromGet spec={spec} id={id} request={request} get={spec.get} />
      )}
    </aside>
  )
}

/** How often a whole list is read again for one resource of it. */
const LIST_MS = 10_000

interface DetailProps<T extends Message> {
  readonly spec: ListSpec<T>
  readonly id: string
  readonly request: Readonly<Record<string, unknown>>
}

function FromGet<T extends Message>({
  spec,
  id,
  request,
  get: { method, field, of_list = [] },
}: DetailProps<T> & { readonly get: SingleRead }): ReactNode {
  const scope = Object.fromEntries(of_list.map((name) => [name, request[name]]))
  const { data, error } = useRpc(method, { ...scope, [spec.id]: id })
  const item = data && (Reflect.get(data, field) as T | undefined)
  return <Shown spec={spec} item={item} error={error} />
}

const ROWS_MAX = 1_000

/** A resource without an RPC of its own is looked for among the first 1,000 that the filters select, and then among the rows of the page. */
function FromList<T extends Message>({ spec, id, request }: DetailProps<T>): ReactNode {
  const has_pages = spec.list.input.fields.some(({ name }) => name === 'page_size')
  const { data, error } = useRpc(
    spec.list,
    { ...spec.fixed, ...request, ...(has_pages && { pageSize: ROWS_MAX }) },
    { every_ms: LIST_MS },
  )
  const items = data && (Reflect.get(data, spec.items) as readonly T[])
  // What is not in a whole list has left it, also when the page still has its row.
  const can_be_later = items === undefined || items.length === ROWS_MAX
  const item =
    itemWith(spec, id, items) ?? (can_be_later ? itemWith(spec, id, rowsRead(spec, request)) : undefined)
  if (items !== undefined && item === undefined)
    return <p>It is not among the first {items.length} of this list.</p>
  return <Shown spec={spec} item={item} error={error} />
}

function itemWith<T extends Message>(
  spec: ListSpec<T>,
  id: string,
  items: readonly Message[] | undefined,
): T | undefined {
  return items?.find((one): one is T => String(Reflect.get(one, spec.id)) === id)
}

/** The rows of the list that were read for the page. */
function rowsRead<T extends Message>(
  spec: ListSpec<T>,
  request: Readonly<Record<string, unknown>>,
): readonly Message[] {
  const read = queries.getQueryData<InfiniteData<{ readonly items: readonly Message[] }>>(
    listKeyOf(spec, request),
  )
  return read?.pages.flatMap(({ items }) => items) ?? []
}

function Shown<T extends Message>({
  spec,
  item,
  error,
}: {
  readonly spec: ListSpec<T>
  readonly item: T | undefined
  readonly error: unknown
}): ReactNode {
  if (item === undefined) return error ? <ProblemNote error={error} /> : <p className="quiet">Reading…</p>
  return (
    <>
      {error != null && <ProblemNote error={error} />}
      <ActBar acts={spec.acts ?? []} item={item} />
      <Facts desc={spec.desc} message={item} without={spec.without ?? []} />
      {spec.more?.(item)}
    </>
  )
}
