import type { Message } from '@bufbuild/protobuf'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import type { Address } from '../../values/addresses.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { useRpc } from '../call/use-rpc.ts'
import { useKeys } from '../parts/keys.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PageLink } from '../parts/text.tsx'
import { Facts } from '../parts/values.tsx'
import type { ListSpec } from './list-spec.ts'

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
        <FromGet spec={spec} id={id} get={spec.get} />
      )}
    </aside>
  )
}

/** How often a whole list is read again for one resource of it. */
const LIST_MS = 10_000

interface DetailProps<T extends Message> {
  readonly spec: ListSpec<T>
  readonly id: string
}

function FromGet<T extends Message>({
  spec,
  id,
  get: { method, field },
}: DetailProps<T> & { readonly get: NonNullable<ListSpec<T>['get']> }): ReactNode {
  const { data, error } = useRpc(method, { [spec.id]: id })
  const item = data && (Reflect.get(data, field) as T | undefined)
  return <Shown spec={spec} item={item} error={error} />
}

/** A resource without an RPC of its own is looked for among the first 1,000 that the filters select. */
function FromList<T extends Message>({
  spec,
  id,
  request,
}: DetailProps<T> & { readonly request: Readonly<Record<string, unknown>> }): ReactNode {
  const has_pages = spec.list.input.fields.some(({ name }) => name === 'page_size')
  const { data, error } = useRpc(
    spec.list,
    { ...spec.fixed, ...request, ...(has_pages && { pageSize: 1_000 }) },
    { every_ms: LIST_MS },
  )
  const items = data && (Reflect.get(data, spec.items) as readonly T[])
  const item = items?.find((one) => String(Reflect.get(one, spec.id)) === id)
  if (items !== undefined && item === undefined)
    return <p>It is not among the first {items.length} of this list.</p>
  return <Shown spec={spec} item={item} error={error} />
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
