import { widthOf } from './table.ts'

/** The beginnings of titles that say which part of the system a row is about, and the word for it. */
const BEGINNINGS: readonly (readonly [beginning: RegExp, what: string])[] = [
  [/^Attempt (\d+) at /, 'attempt $1'],
  [/^Event (\S+) /, '$1'],
  [/^Callback (\S+) /, '$1'],
  [/^(Payment|Provider|Refund|Chargeback|Ticket|Ledger|Anomaly)(?:: | )/, '$1'],
]

/** What each other kind of row is about. */
const KINDS: Readonly<Record<string, string>> = { operator_act: 'person', ledger_entry: 'ledger' }

/** The two columns of a row of a timeline: what it is about, as `attempt 1`, and what happened to it. */
export function columnsOf(kind: string, title: string): readonly [what: string, text: string] {
  for (const [beginning, what] of BEGINNINGS) {
    const [whole] = beginning.exec(title) ?? []
    if (whole === undefined || kind === 'operator_act') continue
    const word = whole.replace(beginning, what)
    const text = title.slice(whole.length)
    return kind === 'delivery' ? [word, `callback ${text}`] : [word.toLowerCase(), text]
  }
  return [KINDS[kind] ?? kind.replaceAll('_', ' '), title]
}

/** The lines of a text in a number of columns, broken at spaces where there are any. */
export function wrap(text: string, columns: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && widthOf(longer) > columns) {
      lines.push(line.trimEnd())
      line = word
    } else line = longer
  }
  return [...lines, line]
}
