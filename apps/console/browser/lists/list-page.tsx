import type { DescField, Message } from '@bufbuild/protobuf'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { type Address, shortId } from '../../values/addresses.ts'
import { type FilterReading, readFilters } from '../../values/filter-tokens.ts'
import { labelOf } from '../../values/labels.ts'
import { callRpc } from '../call/call-rpc.ts'
import { nowMs } from '../call/machine.ts'
import { keyOf, useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { type Row, RowList } from '../parts/row-list.tsx'
import { PageLink, Text } from '../parts/text.tsx'
import { useTitle } from '../parts/title.ts'
import { Value } from '../parts/values.tsx'
import { Detail } from './detail.tsx'
import { FilterField } from './filter-field.tsx'
import type { ListSpec } from './list-spec.ts'

const PAGE_SIZE = 50
/** How often the list looks for new rows, which wait until the person wants them. */
const NEWS_MS = 4_000

/** A page with a list, its filters, and what is open. Filters and the open resource are in the address. */
export function ListPage<T extends Message>({ spec }: { readonly spec: ListSpec<T> }): ReactNode {
  const { q = '', open }: { readonly q?: string; readonly open?: string } = useSearch({ strict: false })
  const navigate = useNavigate()
  // A time such as `2h` is counted from when the filters were written, so that the pages of a list fit together.
  const [reading, setReading] = useState(() => readingOf(spec, q))
  if (reading.q !== q) setReading(readingOf(spec, q))
  useTitle(spec.title)
  const missing = (spec.needs ?? []).filter((name) => !q.includes(`${name}:`))
  const apply = (text: string): void => void navigate({ to: spec.path, search: { q: text } as never })
  return (
    <>
      <h1>{spec.title}</h1>
      <p className="quiet">{spec.question}</p>
      <FilterField key={q} text={q} filters={spec.filters} input={spec.list.input} onApply={apply} />
      {reading.problems.map((problem) => (
        <p key={problem} role="alert" className="note bad">
          {problem}
        </p>
      ))}
      <div className={open === undefined ? '' : 'with-detail'}>
        {missing.length > 0 && (
          <p>This list needs {missing.map((name) => `${name}:`).join(' and ')} in the filters.</p>
        )}
        {reading.problems.length + missing.length === 0 && (
          <Items spec={spec} reading={reading} open={open} />
        )}
        {open !== undefined && (
          <Detail key={open} spec={spec} id={open} close={{ path: spec.path, search: { q } }} />
        )}
      </div>
    </>
  )
}

interface ListReading extends FilterReading {
  readonly q: string
}

function readingOf<T extends Message>({ filters, list }: ListSpec<T>, q: string): ListReading {
  return { q, ...readFilters(q, filters, list.input, nowMs()) }
}

interface Answer {
  readonly items: readonly Message[]
  readonly next: string
}

function answerOf<T extends Message>({ items }: ListSpec<T>, message: Message): Answer {
  return { items: Reflect.get(message, items), next: Reflect.get(message, 'nextPageToken') ?? '' }
}

function Items<T extends Message>({
  spec,
  reading: { q, request },
  open,
}: {
  readonly spec: ListSpec<T>
  readonly reading: ListReading
  readonly open: string | undefined
}): ReactNode {
  const has_pages = spec.list.input.fields.some(({ name }) => name === 'page_size')
  const first = { ...spec.fixed, ...request, ...(has_pages && { pageSize: PAGE_SIZE }) }
  const pages = useInfiniteQuery({
    queryKey: ['list', ...keyOf(spec.list, first)],
    queryFn: async ({ pageParam, signal }) =>
      answerOf(
        spec,
        await callRpc(spec.list, pageParam === '' ? first : { ...first, pageToken: pageParam }, { signal }),
      ),
    initialPageParam: '',
    getNextPageParam: ({ next }) => (next === '' ? undefined : next),
    refetchOnWindowFocus: false,
  })
  const items = pages.data?.pages.flatMap((page) => page.items) ?? []
  const news = useRpc(spec.list, first, { every_ms: NEWS_MS, enabled: pages.isSuccess })
  const known = new Map(items.map((item) => [idOf(spec, item), item]))
  const newest = news.data === undefined ? [] : answerOf(spec, news.data).items
  const added = newest.filter((item) => !known.has(idOf(spec, item))).length
  // Rows keep their places; what they show is the newest that is known.
  const fresh = new Map(newest.map((item) => [idOf(spec, item), item]))
  const shown = items.map((item) => fresh.get(idOf(spec, item)) ?? item)
  if (pages.data === undefined)
    return pages.error ? <ProblemNote error={pages.error} /> : <p className="quiet">Reading…</p>
  return (
    <div className="items">
      {pages.error !== null && <ProblemNote error={pages.error} />}
      {added > 0 && (
        <button type="button" onClick={() => void pages.refetch()}>
          {added} new
        </button>
      )}
      {shown.length === 0 ? (
        <p>{q === '' ? spec.empty : 'Nothing matches these filters.'}</p>
      ) : (
        <RowList
          caption={`${shown.length} shown${pages.hasNextPage ? ', there are more' : ''}`}
          heads={spec.columns.map(labelOf)}
          numbers={spec.columns.flatMap((name, column) => (isAmount(spec, name) ? [column] : []))}
          rows={shown.map((item) => rowOf(spec, item, { q, open }))}
        />
      )}
      {pages.hasNextPage && (
        <button type="button" disabled={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
          {pages.isFetchingNextPage ? 'Reading…' : `${PAGE_SIZE} more`}
        </button>
      )}
    </div>
  )
}

function isAmount<T extends Message>({ desc }: ListSpec<T>, name: string): boolean {
  return desc.fields.find((field) => field.name === name)?.message?.typeName === 'multihub.common.v1.Money'
}

function idOf<T extends Message>({ id }: ListSpec<T>, item: Message): string {
  return String(Reflect.get(item, id))
}

function rowOf<T extends Message>(
  spec: ListSpec<T>,
  item: Message,
  { q, open }: { readonly q: string; readonly open: string | undefined },
): Row {
  const id = idOf(spec, item)
  const address =
    spec.folder === undefined
      ? { path: spec.path, search: { ...(q !== '' && { q }), open: id } }
      : { path: `/${spec.folder}/${encodeURIComponent(id)}` }
  const fields = spec.columns.map((name) => spec.desc.fields.find((field) => field.name === name))
  return {
    key: id,
    address,
    is_open: id === open,
    cells: fields.map((field, column) => {
      if (field === undefined) return null
      const { name } = field
      if (column === 0) return <First key={name} to={address} id={id} field={field} item={item} />
      return <Value key={name} field={field} message={item} />
    }),
  }
}

/** The first column opens the row, so an id in it leads nowhere else. */
function First({
  to,
  id,
  field,
  item,
}: {
  readonly id: string
  readonly to: Address
  readonly field: DescField
  readonly item: Message
}): ReactNode {
  const value: unknown = Reflect.get(item, field.localName)
  return (
    <PageLink to={to}>
      {typeof value === 'string' ? (
        <Text>{field.name.endsWith('_id') || value === '' ? shortId(value || id) : value}</Text>
      ) : (
        <Value field={field} message={item} />
      )}
    </PageLink>
  )
}
