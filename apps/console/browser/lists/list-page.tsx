import type { DescField, Message } from '@bufbuild/protobuf'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { OverviewService } from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import type { OpenItems } from '#gen/multihub/common/v1/open_items_pb.ts'
import { type Address, shortId } from '../../values/addresses.ts'
import { isNumberField } from '../../values/amount-fields.ts'
import { type FilterReading, hasDays, readFilters } from '../../values/filter-tokens.ts'
import { labelOf } from '../../values/labels.ts'
import { countedBy, countText } from '../../values/open-items.ts'
import type { Zone } from '../../values/times.ts'
import { callRpc } from '../call/call-rpc.ts'
import { nowMs } from '../call/machine.ts'
import { queries, useRpc } from '../call/use-rpc.ts'
import { MerchantZone } from '../parts/merchant-zone.tsx'
import { useZone } from '../parts/preferences.ts'
import { useRights } from '../parts/principal.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { type Row, RowList } from '../parts/row-list.tsx'
import { PageLink, Text } from '../parts/text.tsx'
import { useTitle } from '../parts/title.ts'
import { Value } from '../parts/values.tsx'
import { ColumnChoice, useColumns } from './column-choice.tsx'
import { CsvButton } from './csv-button.tsx'
import { Detail } from './detail.tsx'
import { FilterField } from './filter-field.tsx'
import { firstPageOf, listKeyOf, PAGE_SIZE } from './list-key.ts'
import { answerOf, type ListSpec } from './list-spec.ts'
import { SavedFilterLinks, SaveFilters } from './saved-filters.tsx'

/** How often the list looks for new rows, which wait until the person wants them. */
const NEWS_MS = 4_000

/** A page with a list, its filters, and what is open. Filters and the open resource are in the address. */
export function ListPage<T extends Message>({
  spec,
  children,
}: {
  readonly spec: ListSpec<T>
  /** What can be done without a resource, such as to make one. */
  readonly children?: ReactNode
}): ReactNode {
  const { q = '', open }: { readonly q?: string; readonly open?: string } = useSearch({ strict: false })
  const navigate = useNavigate()
  // A time such as `2h` is counted from when the filters were written, so that the pages of a list fit together.
  const zone = useZone()
  const [reading, setReading] = useState(() => readingOf(spec, q, zone))
  if (reading.q !== q || reading.zone !== zone) setReading(readingOf(spec, q, zone))
  useTitle(spec.title)
  const { is_merchant } = useRights()
  const missing = (spec.needs ?? []).filter(
    (name) => !q.includes(`${name}:`) && !(is_merchant && name === 'merchant'),
  )
  const apply = (text: string): void => void navigate({ to: spec.path, search: { q: text } as never })
  return (
    <MerchantZone merchant_id={String(reading.request['merchantId'] ?? '')}>
      <h1>{spec.title}</h1>
      <p className="quiet">{spec.question}</p>
      {children}
      <FilterField key={q} text={q} filters={spec.filters} input={spec.list.input} onApply={apply} />
      {hasDays(spec.filters, spec.list.input) && (
        <p className="quiet">
          <small>
            Days of filters begin at 00:00 in {zone === 'local' ? 'the zone of this browser' : zone}.
          </small>
        </p>
      )}
      {reading.problems.map((problem) => (
        <p key={problem} role="alert" className="note bad">
          {problem}
        </p>
      ))}
      {missing.length + reading.problems.length === 0 && spec.above?.(reading.request)}
      <div className={open === undefined ? '' : 'with-detail'}>
        {missing.length > 0 && (
          <p>
            This list needs {missing.map((name) => `${name}:`).join(' and ')} in the filters. {spec.choices}
          </p>
        )}
        {reading.problems.length + missing.length === 0 && (
          <Items spec={spec} reading={reading} open={open} />
        )}
        {open !== undefined && (
          <Detail
            key={open}
            spec={spec}
            request={reading.request}
            id={open}
            close={{ path: spec.path, search: { q } }}
          />
        )}
      </div>
    </MerchantZone>
  )
}

interface ListReading extends FilterReading {
  readonly q: string
  readonly zone: Zone
}

function readingOf<T extends Message>({ filters, list }: ListSpec<T>, q: string, zone: Zone): ListReading {
  return { q, zone, ...readFilters(q, filters, list.input, { now_ms: nowMs(), zone }) }
}

/** The most pages that are kept, so that a list is quick at any depth; the first ones make room for more. */
const PAGES_MAX = 20

interface PagePosition {
  readonly token: string
  /** How many rows are before the page. */
  readonly before: number
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
  const columns = useColumns(spec)
  const total = useTotal(spec.path, q)
  const filtered = { ...spec.fixed, ...request }
  const first = firstPageOf(spec, request)
  const key = listKeyOf(spec, request)
  const pages = useInfiniteQuery({
    queryKey: key,
    queryFn: async ({ pageParam: { token, before }, signal }) => ({
      before,
      ...answerOf(
        spec,
        await callRpc(spec.list, token === '' ? first : { ...first, pageToken: token }, { signal }),
      ),
    }),
    initialPageParam: { token: '', before: 0 } as PagePosition,
    getNextPageParam: ({ next, items, before }): PagePosition | undefined =>
      next === '' ? undefined : { token: next, before: before + items.length },
    getPreviousPageParam: () => undefined,
    maxPages: PAGES_MAX,
    refetchOnWindowFocus: false,
  })
  const items = pages.data?.pages.flatMap((page) => page.items) ?? []
  const before = pages.data?.pages[0]?.before ?? 0
  const news = useRpc(spec.list, first, { every_ms: NEWS_MS, enabled: pages.isSuccess })
  const newest = news.data === undefined ? [] : answerOf(spec, news.data).items
  const { rows: shown, added } = withNews(spec, items, newest)
  if (pages.data === undefined)
    return pages.error ? <ProblemNote error={pages.error} /> : <p className="quiet">Reading…</p>
  const toNewest = (): void => void queries.resetQueries({ queryKey: key, exact: true })
  return (
    <div className="items">
      {pages.error !== null && <ProblemNote error={pages.error} />}
      <div className="tools">
        {shown.length > 0 && (
          <strong>{countWords({ before, rows: shown.length, has_more: pages.hasNextPage, total })}</strong>
        )}
        {before > 0 && (
          <button type="button" onClick={toNewest}>
            Back to the first row
          </button>
        )}
        {before === 0 && added > 0 && (
          <button type="button" onClick={toNewest}>
            {added} new
          </button>
        )}
        <SavedFilterLinks path={spec.path} q={q} />
        <span className="right">
          <SaveFilters path={spec.path} q={q} />
          <ColumnChoice spec={spec} shown={columns} />
          <CsvButton key={q} spec={spec} request={filtered} columns={columns} />
        </span>
      </div>
      {shown.length === 0 ? (
        <p>{q === '' ? spec.empty : 'Nothing matches these filters.'}</p>
      ) : (
        <RowList
          label={spec.title}
          heads={columns.map(({ name }) => labelOf(name))}
          numbers={columns.flatMap((field, column) => (isNumberField(field) ? [column] : []))}
          rows={shown.map((item) => rowOf(spec, item as T, { q, open, columns }))}
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

/** Rows keep their places, and show the newest that is known of them; `added` counts the rows that are not among them. */
function withNews<T extends Message>(
  spec: ListSpec<T>,
  items: readonly Message[],
  newest: readonly Message[],
): { readonly rows: readonly Message[]; readonly added: number } {
  const known = new Set(items.map((item) => idOf(spec, item)))
  const fresh = new Map(newest.map((item) => [idOf(spec, item), item]))
  return {
    rows: items.map((item) => fresh.get(idOf(spec, item)) ?? item),
    added: newest.filter((item) => !known.has(idOf(spec, item))).length,
  }
}

/** How often the whole length of a list is read again. */
const TOTAL_MS = 10_000

/** How long the whole list is, where the overview knows it; `undefined` otherwise. */
function useTotal(path: string, q: string): number | undefined {
  const { is_merchant } = useRights()
  const field = countedBy(path, q)
  const { data } = useRpc(
    OverviewService.method.getOverview,
    {},
    { every_ms: TOTAL_MS, enabled: field !== undefined && !is_merchant },
  )
  return field === undefined ? undefined : (data?.[field] as OpenItems | undefined)?.count
}

function countWords({
  before,
  rows,
  has_more,
  total,
}: {
  readonly before: number
  readonly rows: number
  readonly has_more: boolean
  readonly total: number | undefined
}): string {
  const shown =
    before === 0
      ? `${rows}`
      : `${(before + 1).toLocaleString('en')} to ${(before + rows).toLocaleString('en')}`
  if (!has_more) return before === 0 ? `${rows} in all` : `${shown}, which is the end`
  return total === undefined || total < rows
    ? `${shown} shown, there are more`
    : `${shown} of ${countText(total)}`
}

function idOf<T extends Message>({ id }: ListSpec<T>, item: Message): string {
  return String(Reflect.get(item, id))
}

function rowOf<T extends Message>(
  spec: ListSpec<T>,
  item: T,
  {
    q,
    open,
    columns,
  }: { readonly q: string; readonly open: string | undefined; readonly columns: readonly DescField[] },
): Row {
  const id = idOf(spec, item)
  const address =
    spec.folder === undefined
      ? { path: spec.path, search: { ...(q !== '' && { q }), open: id } }
      : { path: `/${spec.folder}/${encodeURIComponent(id)}` }
  return {
    key: id,
    address,
    is_open: id === open,
    cells: columns.map((field, column) => {
      const { name } = field
      if (column === 0) return <First key={name} to={address} id={id} field={field} item={item} />
      const show = spec.cells?.[name]
      return show ? show(item) : <Value key={name} field={field} message={item} />
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
