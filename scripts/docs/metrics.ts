import { ROLES } from '#lib/platform/process/role.ts'
import { describeMetrics } from '#lib/platform/telemetry/metrics.ts'
import { loadRoles } from '../../roles.ts'

// The code of a metric defines it when it is loaded.
await loadRoles(ROLES)
await import('#lib/platform/telemetry/otlp.ts')

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
