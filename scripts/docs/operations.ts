import { OPERATION_RULES } from '../../services/payments/domain/operation.ts'
import type { Table } from './limits.ts'

/** The table of the three kinds of operations at a provider, as the code has it, with one column per kind. */
export function operationsTable(): Table {
  const kinds = Object.entries(OPERATION_RULES)
  const row = (title: string, cellOf: (rules: (typeof kinds)[number][1]) => string) => [
    title,
    ...kinds.map(([, rules]) => cellOf(rules)),
  ]
  const word = (name: string | undefined): string => (name === undefined ? 'none' : name.replaceAll('_', ' '))
  const status = (verdict: keyof (typeof kinds)[number][1]['ends']) =>
    row(`status after \`${verdict}\``, ({ ends }) => `\`${ends[verdict]}\``)
  return [
    ['', ...kinds.map(([kind]) => kind)],
    row('hold before the create', ({ hold }) => word(hold)),
    row('a create that was not sent', ({ fails_over }) =>
      fails_over ? 'goes to the next account' : 'ends it',
    ),
    row('the merchant waits for the create', ({ is_awaited }) => (is_awaited ? 'yes' : 'no')),
    row('without a result', ({ without_result }) => word(without_result)),
    row('ledger on success', ({ entry_on_success }) => word(entry_on_success)),
    row('ledger on failure', ({ entry_on_failure }) => word(entry_on_failure)),
    ...(['success', 'declined', 'canceled', 'not_sent', 'not_paid'] as const).map(status),
  ]
}
