import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeConfig, type Schema } from '#lib/config/config.ts'
import { GATEWAY_CONFIG } from '../gateway/service.ts'
import { PROCESS_SETTINGS } from '../roles.ts'
import { BALANCES_CONFIG } from '../services/balances/service.ts'
import { MERCHANTS_CONFIG } from '../services/merchants/service.ts'
import { NOTIFIER_CONFIG } from '../services/notifier/service.ts'
import { PAYMENTS_CONFIG } from '../services/payments/service.ts'
import { SANDBOX_CONFIG } from '../services/sandbox/service.ts'

/** Every setting that a process reads, by who reads it. */
const SCHEMAS: Readonly<Record<string, Schema>> = {
  'every process': PROCESS_SETTINGS,
  gateway: GATEWAY_CONFIG,
  merchants: MERCHANTS_CONFIG,
  payments: PAYMENTS_CONFIG,
  balances: BALANCES_CONFIG,
  notifier: NOTIFIER_CONFIG,
  sandbox: SANDBOX_CONFIG,
}

const PATH = join(import.meta.dirname, '..', 'docs', 'running.md')
const BEGIN = '<!-- settings: made by npm run docs -->'
const END = '<!-- end of settings -->'

/** The page on running with its table of settings as the code has them, beside the page as it stands. */
export async function runningPage(): Promise<{ readonly current: string; readonly wanted: string }> {
  const current = await readFile(PATH, 'utf8')
  const [before = '', rest = ''] = current.split(BEGIN)
  const [, after = ''] = rest.split(END)
  return { current, wanted: `${before}${BEGIN}\n${settingsTable()}\n${END}${after}` }
}

/** A setting that several roles read stands once, with all of them. */
function settingsTable(): string {
  const rows = new Map<string, { readers: string[]; expected: string; default: string }>()
  for (const [reader, schema] of Object.entries(SCHEMAS)) {
    for (const { variable, expected, default: fallback } of describeConfig(schema)) {
      const row = rows.get(variable)
      if (row) row.readers.push(reader)
      else rows.set(variable, { readers: [reader], expected, default: fallback })
    }
  }
  const lines = [...rows].map(
    ([variable, row]) => `| \`${variable}\` | ${row.readers.join(', ')} | ${row.expected} | ${row.default} |`,
  )
  return ['| Variable | Read by | Expected | Default |', '|---|---|---|---|', ...lines].join('\n')
}

if (process.argv[1] === import.meta.filename) {
  const { wanted } = await runningPage()
  await writeFile(PATH, wanted)
}
