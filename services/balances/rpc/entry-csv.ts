import type { StatementEntry } from '../use-cases/list-entries.ts'

type Column = (entry: StatementEntry) => string

/** The columns of an export. Amounts and balances are integers in minor units; text is quoted. */
const COLUMNS: Readonly<Record<string, Column>> = {
  create_time: ({ time }) => time.toISOString(),
  entry_id: ({ entry }) => quote(entry.id),
  kind: ({ entry }) => entry.kind,
  payment_id: ({ entry }) => quote(entry.payment_id ?? ''),
  currency: ({ entry }) => entry.currency,
  debit: ({ entry }) => entry.debit,
  credit: ({ entry }) => entry.credit,
  amount: ({ entry }) => String(entry.amount),
  refused_code: ({ entry }) => String(entry.refused_code ?? ''),
  available_after: ({ entry }) => String(entry.available),
  held_after: ({ entry }) => String(entry.held),
  reason: ({ entry }) => quote(entry.reason),
}

/** The first line of an export: the names of the columns. */
export const CSV_HEADER = `${Object.keys(COLUMNS).join(',')}\r\n`

/** One entry as a line by RFC 4180. */
export function csvLine(entry: StatementEntry): string {
  const fields = Object.values(COLUMNS).map((column) => column(entry))
  return `${fields.join(',')}\r\n`
}

/** The characters, also in full width, at which a spreadsheet takes a text for a formula. */
const FORMULA = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/

/** Quotes a text. An apostrophe before a formula makes a spreadsheet show it instead of running it. */
function quote(text: string): string {
  const harmless = FORMULA.test(text) ? `'${text}` : text
  return `"${harmless.replaceAll('"', '""')}"`
}
