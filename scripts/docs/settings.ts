import { type ConfigSchema, describeConfig, type SettingDescription } from '#lib/base/config/config.ts'
import { LOCAL_SETTINGS, PROCESS_SETTINGS } from '../../app/process-settings.ts'
import { role as gateway } from '../../gateway/service.ts'
import { role as attachments } from '../../services/attachments/service.ts'
import { role as backoffice } from '../../services/backoffice/service.ts'
import { role as balances } from '../../services/balances/service.ts'
import { role as merchants } from '../../services/merchants/service.ts'
import { role as notifier } from '../../services/notifier/service.ts'
import { role as payments } from '../../services/payments/service.ts'
import { role as sandbox } from '../../services/sandbox/service.ts'
import { role as support } from '../../services/support/service.ts'
import type { Table } from './limits.ts'

const ALL_ROLES = 'every process'

const ROLES = [gateway, merchants, payments, balances, notifier, attachments, support, sandbox, backoffice]

/** The settings, by the role that reads them. */
const SCHEMAS: Readonly<Record<string, ConfigSchema>> = {
  [ALL_ROLES]: PROCESS_SETTINGS,
  ...Object.fromEntries(ROLES.map(({ name, settings }) => [name, settings])),
  '`npm start`': LOCAL_SETTINGS,
}

type RoleDescription = SettingDescription & { readonly reader: string }

/** The settings as a table. A setting that several roles read has one row, with all of them. */
export function settingsTable(): Table {
  const descriptions = Object.entries(SCHEMAS).flatMap(([reader, schema]) =>
    describeConfig(schema).map((description): RoleDescription => ({ ...description, reader })),
  )
  const by_variable = Map.groupBy(descriptions, ({ variable }) => variable)
  const rows = [...by_variable].map(([variable, same]) => {
    const purposes = new Set(same.map(({ purpose }) => purpose))
    if (purposes.has(''))
      throw new Error(
        `${variable} has no description; describe each of its declarations with describedSetting()`,
      )
    return [
      `\`${variable}\``,
      [...purposes].join(' '),
      readersText(same),
      same[0]?.expected,
      defaultText(same),
    ]
  })
  return [['Variable', 'What for', 'Read by', 'Expected', 'Default'], ...rows]
}

function readersText(same: readonly RoleDescription[]): string {
  const readers = same.map(({ reader }) => reader)
  return readers.includes(ALL_ROLES) ? ALL_ROLES : readers.join(', ')
}

/** The default that all roles have in common, or the default of each role. */
function defaultText(same: readonly RoleDescription[]): string {
  const [first] = same
  if (same.every((description) => description.default === first?.default)) return first?.default ?? ''
  return same.map((description) => `${description.reader}: ${description.default}`).join('; ')
}
