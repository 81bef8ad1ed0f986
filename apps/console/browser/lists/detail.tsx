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

/** A resource without an RPC of its own is in a list that is read as a whole. */
function FromList<T extends Message>({ spec, id, request }: DetailProps<T>): ReactNode {
  const { data, error } = useRpc(spec.list, { ...spec.fixed, ...request }, { every_ms: LIST_MS })
  const items: readonly T[] | undefined = data && Reflect.get(data, spec.items)
  const item = items?.find((one) => String(Reflect.get(one, spec.id)) === id)
  if (items !== undefined && item === undefined) return <p>It is not in this list.</p>
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
