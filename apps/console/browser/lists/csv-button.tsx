import type { DescField, Message } from '@bufbuild/protobuf'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { columnFields, csvHead, csvRow } from '../../values/csv.ts'
import { callRpc } from '../call/call-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { answerOf, type ListSpec } from './list-spec.ts'

const PAGE_SIZE = 1_000
/** The most rows of one file: about 10 MB, and what a spreadsheet still opens. */
const ROWS_MAX = 50_000

type Progress =
  | { readonly state: 'idle' }
  | { readonly state: 'reading'; readonly rows: number }
  | { readonly state: 'done'; readonly rows: number; readonly has_more: boolean }
  | { readonly state: 'failed'; readonly error: unknown }

/** Writes the rows that the filters select, with the columns that are shown, into a CSV file. */
export function CsvButton<T extends Message>({
  spec,
  request,
  columns,
}: {
  readonly spec: ListSpec<T>
  readonly request: Readonly<Record<string, unknown>>
  readonly columns: readonly DescField[]
}): ReactNode {
  const fitting = columnFields(spec.desc)
  const fields = columns.filter((field) => fitting.includes(field))
  const [progress, setProgress] = useState<Progress>({ state: 'idle' })
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const write = async (): Promise<void> => {
    const controller = new AbortController()
    running.current = controller
    setProgress({ state: 'reading', rows: 0 })
    try {
      const { parts, rows, has_more } = await readAll(spec, request, fields, {
        signal: controller.signal,
        onRows: (read) => setProgress({ state: 'reading', rows: read }),
      })
      download(`${spec.path.slice(1)}.csv`, parts)
      setProgress({ state: 'done', rows, has_more })
    } catch (error) {
      setProgress(controller.signal.aborted ? { state: 'idle' } : { state: 'failed', error })
    }
  }
  if (progress.state === 'reading')
    return (
      <span role="status">
        {progress.rows.toLocaleString('en')} rows read{' '}
        <button type="button" onClick={() => running.current?.abort()}>
          Stop
        </button>
      </span>
    )
  return (
    <>
      {progress.state === 'failed' && <ProblemNote error={progress.error} />}
      {progress.state === 'done' && (
        <span role="status" className="quiet">
          {progress.rows.toLocaleString('en')} rows written
          {progress.has_more && '. There are more: divide them by filters, such as created:yesterday'}
        </span>
      )}
      <button type="button" onClick={() => void write()}>
        CSV
      </button>
    </>
  )
}

/** Reads one page after the other, up to the bound. */
async function readAll<T extends Message>(
  spec: ListSpec<T>,
  request: Readonly<Record<string, unknown>>,
  fields: readonly DescField[],
  { signal, onRows }: { readonly signal: AbortSignal; readonly onRows: (rows: number) => void },
): Promise<{ readonly parts: readonly string[]; readonly rows: number; readonly has_more: boolean }> {
  const has_pages = spec.list.input.fields.some(({ name }) => name === 'page_size')
  const parts = [csvHead(fields)]
  let rows = 0
  let token = ''
  do {
    const page = has_pages ? { pageSize: PAGE_SIZE, ...(token !== '' && { pageToken: token }) } : {}
    const { items, next } = answerOf(spec, await callRpc(spec.list, { ...request, ...page }, { signal }))
    for (const item of items) parts.push(csvRow(fields, item))
    rows += items.length
    onRows(rows)
    token = next
  } while (token !== '' && rows < ROWS_MAX)
  return { parts, rows, has_more: token !== '' }
}

/** Gives a file to the person. The mark at its beginning says that it is UTF-8. */
function download(name: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob(['\u{feff}', ...parts], { type: 'text/csv;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
