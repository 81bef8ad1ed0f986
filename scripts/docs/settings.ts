import { describeConfig, type Schema } from '#lib/platform/config/config.ts'
import { GATEWAY_CONFIG } from '../../gateway/service.ts'
import { PROCESS_SETTINGS } from '../../roles.ts'
import { BALANCES_CONFIG } from '../../services/balances/service.ts'
import { MERCHANTS_CONFIG } from '../../services/merchants/service.ts'
import { NOTIFIER_CONFIG } from '../../services/notifier/service.ts'
import { PAYMENTS_CONFIG } from '../../services/payments/service.ts'
import { SANDBOX_CONFIG } from '../../services/sandbox/service.ts'

/** The settings, by the role that reads them. */
const SCHEMAS: Readonly<Record<string, Schema>> = {
  'every process': PROCESS_SETTINGS,
  gateway: GATEWAY_CONFIG,
  merchants: MERCHANTS_CONFIG,
  payments: PAYMENTS_CONFIG,
  balances: BALANCES_CONFIG,
  notifier: NOTIFIER_CONFIG,
  sandbox: SANDBOX_CONFIG,
}

/** The settings as a table. A setting that several roles read has one row, with all of them. */
export function settingsTable(): string {
  const rows = new Map<string, { readers: string[]; purposes: string[]; expected: string; default: string }>()
  for (const [reader, schema] of Object.entries(SCHEMAS)) {
    for (const { variable, purpose, ...described } of describeConfig(schema)) {
      const row = rows.get(variable) ?? { ...described, readers: [], purposes: [] }
      row.readers.push(reader)
      if (purpose !== '') row.purposes.push(purpose)
      rows.set(variable, row)
    }
  }
  const lines = [...rows].map(([variable, { purposes, readers, expected, default: fallback }]) => {
    const [purpose] = purposes
    if (purpose === undefined) throw new Error(`${variable} has no description; add one with described()`)
    return `| \`${variable}\` | ${purpose} | ${readers.join(', ')} | ${expected} | ${fallback} |`
  })
  return ['| Variable | What for | Read by | Expected | Default |', '|---|---|---|---|---|', ...lines].join(
    '\n',
  )
}
