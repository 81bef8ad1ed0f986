import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useRef } from 'react'
import type { Address } from '../../values/addresses.ts'
import { useKeys } from './keys.ts'

/** One row of a list. */
export interface Row {
  readonly key: string
  /** Where Enter and a click lead. */
  readonly address?: Address | undefined
  readonly is_open?: boolean
  readonly cells: readonly ReactNode[]
}

/** A table whose rows are chosen by `j`, `k` and opened by Enter. */
export function RowList({
  caption,
  label,
  heads,
  numbers = [],
  rows,
}: {
  readonly caption?: ReactNode
  /** What the table is called where it has no caption. */
  readonly label?: string
  readonly heads: readonly string[]
  /** The columns that are aligned to the right. */
  readonly numbers?: readonly number[]
  readonly rows: readonly Row[]
}): ReactNode {
  const body = useRef<HTMLTableSectionElement>(null)
  // Where the focus was last, also after it has left the list, such as for the details of a row.
  const last = useRef('')
  const navigate = useNavigate()
  const open = (address: Address): void =>
    void navigate({ to: address.path, search: (address.search ?? {}) as never })
  const move = (step: number): void => {
    const all = [...(body.current?.rows ?? [])]
    const focused = all.findIndex((row) => row.contains(document.activeElement))
    const at = focused < 0 ? rows.findIndex(({ key, is_open }) => is_open || key === last.current) : focused
    const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step
    all[Math.min(Math.max(next, 0), all.length - 1)]?.focus()
  }
  useKeys({ j: () => move(1), k: () => move(-1) })
  const align = (column: number) => (numbers.includes(column) ? { className: 'number' } : {})
  return (
    <section className="scroll">
      <table className="rows" {...(label && { 'aria-label': label })}>
        {caption !== undefined && <caption>{caption}</caption>}
        <thead>
          <tr>
            {heads.map((head, column) => (
              <th key={head} scope="col" {...align(column)}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map(({ key, address, is_open = false, cells }) => (
            <tr
              key={key}
              tabIndex={-1}
              onFocus={() => {
                last.current = key
              }}
              aria-current={is_open || undefined}
              onKeyDown={({ key: pressed, target, currentTarget }) => {
                if (pressed === 'Enter' && target === currentTarget && address) open(address)
              }}
              onClick={({ target }) => {
                if (address && !(target as Element).closest('a, button')) open(address)
              }}
            >
              {cells.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its column
                <td key={column} {...align(column)}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
