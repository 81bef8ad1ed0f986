/** A table of text: heads, rows, and the columns that are right-aligned. */
export interface Table {
  readonly heads: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** The columns of amounts. */
  readonly right: ReadonlySet<number>
  /** Gives a cell of a row its colour: the text as it is shown, its whole text, and its column. */
  readonly paint?: (shown: string, text: string, column: number) => string
}

const GAP = '  '
const SEGMENTS = new Intl.Segmenter('en', { granularity: 'grapheme' })
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u

/** The columns of a terminal that a text takes. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  return [...SEGMENTS.segment(text)].reduce((sum, { segment }) => sum + (WIDE.test(segment) ? 2 : 1), 0)
}

/**
 * Lays out a table in a number of columns. What does not fit is left out from the right, and the names of the columns left out are
 * returned. The last column that fits may be cut.
 */
export function layOut(
  table: Table,
  columns: number,
): { readonly lines: readonly string[]; readonly left_out: readonly string[] } {
  const all = [table.heads, ...table.rows]
  const filled = table.heads.map((_, n) => table.rows.length === 0 || table.rows.some((row) => row[n] !== ''))
  const widths = table.heads.map((_, n) => Math.max(...all.map((row) => widthOf(row[n] ?? ''))))
  const shown: number[] = []
  let used = 0
  let is_full = false
  for (const n of table.heads.keys()) {
    if (!filled[n] || is_full) continue
    const room = columns - used - (shown.length === 0 ? 0 : GAP.length)
    const least = Math.min(widths[n] ?? 0, Math.max(widthOf(table.heads[n] ?? ''), 8))
    if (shown.length > 0 && room < least) {
      is_full = true
      continue
    }
    widths[n] = Math.min(widths[n] ?? 0, Math.max(room, least))
    used += (widths[n] ?? 0) + (shown.length === 0 ? 0 : GAP.length)
    shown.push(n)
  }
  const paint = table.paint ?? ((shown_text: string) => shown_text)
  const lines = all.map((row) =>
    shown
      .map((n) => {
        const [text = '', width = 0] = [row[n], widths[n]]
        const cut = cutTo(text, width)
        const space = ' '.repeat(Math.max(0, width - widthOf(cut)))
        const cell = row === table.heads ? cut : paint(cut, text, n)
        return table.right.has(n) ? space + cell : cell + space
      })
      .join(GAP)
      .trimEnd(),
  )
  const left_out = [...table.heads.keys()].filter((n) => filled[n] && !shown.includes(n))
  return { lines, left_out: left_out.map((n) => table.heads[n] ?? '') }
}

function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let cut = ''
  let used = 0
  for (const { segment } of SEGMENTS.segment(text)) {
    const next = widthOf(segment)
    if (used + next > width - 1) break
    cut += segment
    used += next
  }
  return `${cut}…`
}
