import { ROLES } from '#lib/role/role.ts'
import { describeMetrics } from '#lib/telemetry/metrics.ts'
import { loadRoles } from '../../app/roles.ts'

// The code of a metric defines it when it is loaded.
await loadRoles(ROLES)
await import('#lib/telemetry/otlp.ts')

/** The metrics of all roles as a table. */
export function metricsTable(): string {
  const lines = describeMetrics()
    .filter(({ name }) => name.startsWith('multihub_'))
    .map(({ name, help, labels }) => {
      const listed = labels.map((label) => `\`${label}\``).join(', ')
      return `| \`${name}\` | ${help} | ${listed} |`
    })
  return ['| Metric | Shows | Labels |', '|---|---|---|', ...lines].join('\n')
}
