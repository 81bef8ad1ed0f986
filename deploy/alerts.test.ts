import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { ROLES } from '#lib/role/role.ts'
import { describeMetrics, measureProcess, metricsText } from '#lib/telemetry/metrics.ts'
import { loadRoles } from '../app/roles.ts'
import {
  type Alert,
  alerts,
  COMPARED,
  describePromtool,
  promtoolReport,
  runPromtool,
  TELEMETRY,
} from './promtool.fixture.ts'

/** One line or group of lines of a panel of the dashboard. */
interface Target {
  readonly expr: string
  readonly legendFormat?: string
}

/** The parts of a panel that the tests read. */
interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>
  readonly fieldConfig: { readonly defaults: { readonly unit: string } }
  readonly targets: readonly Target[]
}

/** Levels of the whole store, which each process shows. */
const STORED = [
  'multihub_effects_oldest_due_seconds',
  'multihub_effects_due',
  'multihub_stuck_effect_documents',
  'multihub_open_anomalies',
  'multihub_waiting_deliveries',
  'multihub_ledger_problems',
  'multihub_operation_success_age_seconds',
  'multihub_ledger_stopped_shards',
  'multihub_ledger_full_verification_age_seconds',
  'multihub_provider_circuit_open{',
]

const RUNBOOKS = 'docs/operators/runbooks'
const dashboard = readFileSync(join(TELEMETRY, 'dashboard.json'), 'utf8')
const panels: readonly Panel[] = JSON.parse(dashboard).panels
const targets = panels.flatMap((panel) => panel.targets)

test('every metric of an alert is on the dashboard, and the dashboard has exactly those of the code', async () => {
  await loadRoles(ROLES)
  await import('#lib/telemetry/otlp.ts')
  const names = describeMetrics().map(({ name }) => name)
  // Other test files of this process have metrics of their own.
  const in_code = names.filter((name) => name.startsWith('multihub_'))
  const on_dashboard = metricsIn(dashboard)
  expect(in_code.length).toBeGreaterThan(40)
  expect(on_dashboard).toEqual(in_code)
  expect(
    alerts.flatMap(({ expr }) => metricsIn(expr)).filter((name) => !on_dashboard.includes(name)),
  ).toEqual([])
})

test('no alert and no panel mixes the systems of several namespaces', () => {
  const aggregations = alerts.flatMap(({ expr }) => expr.match(/\b(?:sum|max|count)\b[^(]*\([^(]*/g) ?? [])
  expect(aggregations.length).toBeGreaterThan(20)
  expect(aggregations.filter((text) => !/^\w+ by \(namespace[,)]/.test(text))).toEqual([])
  const selectors = targets.flatMap(
    ({ expr }) => expr.match(/\b(?:multihub|process)_\w+(?:\{[^}]*\})?/g) ?? [],
  )
  expect(selectors.length).toBeGreaterThan(40)
  expect(selectors.filter((text) => !text.includes('{namespace="$namespace"'))).toEqual([])
  expect(JSON.parse(dashboard).templating.list).toContainEqual(
    expect.objectContaining({
      name: 'namespace',
      query: 'label_values(multihub_build_info, namespace)',
    }),
  )
})

test('every label by which an alert or the dashboard selects or groups is one of its metric', async () => {
  await loadRoles(ROLES)
  const known = new Map(describeMetrics().map(({ name, labels }) => [name, new Set(labels)]))
  const selected = [...alerts, ...targets].flatMap(({ expr: text }) =>
    [...text.matchAll(/([a-z_]+)\{([^{}]+)\}/g)].flatMap(([, metric = '', labels = '']) =>
      [...labels.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => ({
        metric: baseOf(metric),
        label,
      })),
    ),
  )
  expect(selected.length).toBeGreaterThan(5)
  const ours = selected.filter(({ metric, label }) => metric.startsWith('multihub_') && label !== 'namespace')
  expect(ours.filter(({ metric, label }) => label !== 'le' && !known.get(metric)?.has(label))).toEqual([])
})

/** The metrics of programs beside Multihub that alerts read, by the program. */
const METRICS_OF_OTHERS = [
  // kube-state-metrics
  'kube_horizontalpodautoscaler_spec_max_replicas',
  'kube_horizontalpodautoscaler_status_desired_replicas',
  // the kubelet
  'kubelet_volume_stats_available_bytes',
  'kubelet_volume_stats_capacity_bytes',
]

test('every other metric of an alert is one of Node.js that a process shows, or of a named program', async () => {
  measureProcess()
  const shown = await metricsText()
  const others = alerts.flatMap(({ expr }) => expr.match(/\b(?:kube|kubelet|nodejs|process)_\w+/g) ?? [])
  expect(new Set(others.filter((name) => !shown.includes(`\n${name} `)))).toEqual(new Set(METRICS_OF_OTHERS))
})

test('the runbook of an alert says whether it is critical, and why', () => {
  const unsaid = alerts.filter(({ labels: { severity }, annotations }) => {
    const text = readFileSync(runbookOf(annotations), 'utf8')
    return !text.includes(severity === 'critical' ? '\nCritical: ' : '\nWarning: ')
  })
  expect(unsaid.map(({ alert }) => alert)).toEqual([])
})

test('every alert has a runbook that quotes it, and every runbook an alert', () => {
  for (const { alert, expr, annotations } of alerts) {
    const page = runbookOf(annotations)
    expect(existsSync(page)).toBe(true)
    expect(readFileSync(page, 'utf8')).toContain(`Alert \`${alert}\`: \`${expr}\``)
  }
  const pages = readdirSync(RUNBOOKS).map((page) => join(RUNBOOKS, page))
  expect(pages.sort()).toEqual(alerts.map(({ annotations }) => runbookOf(annotations)).sort())
})

/** The page of an alert. Operators replace the host of the address by their own copy of the pages. */
function runbookOf({ runbook_url }: Alert['annotations']): string {
  return runbook_url.replace('https://multihub.example/', '')
}

test('every alert has a case in which it fires, and one in which it does not', () => {
  const cases: readonly { readonly alertname: string; readonly exp_alerts: readonly object[] }[] = parse(
    readFileSync(join(import.meta.dirname, 'alerts.cases.yaml'), 'utf8'),
  ).tests.flatMap((group: { readonly alert_rule_test: unknown }) => group.alert_rule_test)
  const names = alerts.map(({ alert }) => alert).filter((name) => !COMPARED.includes(name))
  for (const fires of [true, false]) {
    const tested = new Set(
      cases.filter(({ exp_alerts }) => exp_alerts.length > 0 === fires).map(({ alertname }) => alertname),
    )
    expect(names.filter((name) => !tested.has(name))).toEqual([])
  }
})

test.each([
  ['multihub_ready', ['role', 'pod', 'instance']],
  ['multihub_gateway_request_seconds_count', ['method']],
  ['multihub_gateway_request_seconds_count', ['method', 'code']],
  ['multihub_gateway_request_seconds_bucket', ['le', 'method']],
  ['multihub_rpc_seconds_count', ['service']],
  ['multihub_rpc_seconds_count', ['code']],
  ['multihub_rpc_seconds_bucket', ['le', 'service']],
  ['multihub_provider_call_seconds_count', ['provider_account', 'operation', 'outcome']],
  ['multihub_provider_call_seconds_bucket', ['le', 'provider_account', 'operation']],
  ['multihub_store_seconds_count', ['role', 'collection', 'operation']],
  ['multihub_store_seconds_bucket', ['le', 'role', 'collection', 'operation']],
  ['multihub_effects_in_flight', ['lane']],
  ['multihub_delivery_slots_in_use', ['health', 'pod', 'instance']],
  ['multihub_ledger_live_processes', ['pod', 'instance']],
  ['multihub_bus_connected', ['pod', 'instance']],
  ['multihub_build_info', ['version', 'commit', 'pod', 'instance']],
  ['multihub_build_info', ['version', 'commit', 'node']],
  ['process_cpu_seconds_total', ['pod', 'instance']],
  ['process_resident_memory_bytes', ['pod', 'instance']],
  ['multihub_limit_refusals_total', ['bucket']],
  ['multihub_gateway_nonces_unverified_total', ['outcome']],
  ['multihub_provider_callbacks_total', ['result']],
  ['multihub_provider_circuit_open', ['provider_account']],
  ['multihub_provider_circuit_openings_total', ['provider_account']],
  ['multihub_effect_failures_total', ['kind']],
  ['multihub_effects_oldest_due_seconds', ['documents', 'lane']],
  ['multihub_effects_due', ['documents', 'lane']],
  ['multihub_event_loop_seconds_total', ['pod', 'instance']],
  ['multihub_call_slots_in_use', ['calls', 'pod', 'instance']],
  ['multihub_stuck_effect_documents', ['documents']],
  ['multihub_anomalies_total', ['kind']],
  ['multihub_open_anomalies', ['environment']],
  ['multihub_anomalies_resolved_total', ['resolution']],
  ['multihub_effects_stuck_total', ['kind']],
  ['multihub_delivery_attempts_total', ['environment', 'outcome']],
  ['multihub_delivery_breakers', ['state']],
  ['multihub_delivery_breaker_changes_total', ['to']],
  ['multihub_dead_deliveries_total', ['environment', 'cause']],
  ['multihub_waiting_deliveries', ['environment', 'waits_for']],
  ['multihub_bus_dropped_total', ['subject']],
  ['multihub_bus_handler_failures_total', ['subject']],
  ['multihub_spans_total', ['result']],
])('a panel shows %s by %p', (metric, labels) => {
  const shown = targets.filter(({ expr }) => expr.includes(metric))
  expect(shown.some((target) => areShown(target, labels))).toBe(true)
})

test('every panel has a place of its own, and the data source that the reader chooses', () => {
  const source = { type: 'prometheus', uid: expect.stringMatching(/^\$\{datasource\}$/) }
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
    expect(x + w).toBeLessThanOrEqual(24)
    return Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`)
  })
  expect(new Set(cells).size).toBe(cells.length)
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  for (const panel of panels) expect(panel).toMatchObject({ datasource: source })
  expect(JSON.parse(dashboard).templating.list).toContainEqual(
    expect.objectContaining({ name: 'datasource', type: 'datasource', query: 'prometheus' }),
  )
})

test('every counter is shown as its growth, and every duration in seconds', () => {
  const counters = targets.flatMap(
    ({ expr }) =>
      expr.match(/(?:\w+\()?(?:multihub|process)_\w+_(?:total|count|bucket)\{[^}]*\}.{0,20}/g) ?? [],
  )
  expect(counters.length).toBeGreaterThan(20)
  expect(
    counters.filter((text) => !/^(rate\(.*\}\[\$__rate_interval\]|increase\(.*\}\[1h\])/.test(text)),
  ).toEqual([])
  const durations = panels.filter((panel) =>
    panel.targets.some(({ expr }) => /histogram_quantile/.test(expr)),
  )
  expect(durations.length).toBeGreaterThan(4)
  for (const panel of durations) {
    expect([panel.title, panel.fieldConfig.defaults.unit]).toEqual([panel.title, 's'])
    for (const { expr } of panel.targets) expect(expr).toMatch(/^histogram_quantile\(0\.99, sum by \(le\b/)
  }
})

test('the growth of counters is added up over processes, and what each process reads from the store is not', () => {
  const added = targets.filter(({ expr }) => /\((rate|increase)\(/.test(expr))
  expect(added.length).toBeGreaterThan(20)
  expect(added.filter(({ expr }) => !/^(sum|histogram_quantile\(0\.99, sum)\b/.test(expr))).toEqual([])
  for (const name of STORED)
    for (const { expr } of targets.filter((target) => target.expr.includes(name)))
      expect(expr).toMatch(/^max\b/)
  for (const name of ['_in_flight{', 'multihub_delivery_breakers{'])
    for (const { expr } of targets.filter((target) => target.expr.includes(name)))
      expect(expr).toMatch(/^sum\b/)
})

test('a panel of failures leaves out the successes', () => {
  const shown = (title: RegExp) =>
    panels.filter((panel) => title.test(panel.title)).map(({ targets: [one] }) => one?.expr)
  expect(shown(/without success/)).toEqual([expect.stringContaining(', code!="ok"}')])
  expect(shown(/ended with an error/)).toEqual([expect.stringContaining(', code!="Ok"}')])
})

test('every panel has the unit of its metrics', () => {
  for (const { title, targets: shown, fieldConfig } of panels)
    for (const { expr } of shown) expect([title, fieldConfig.defaults.unit]).toEqual([title, unitOf(expr)])
})

describePromtool('with promtool', () => {
  test('the alerts are valid', () => {
    const report = promtoolReport('check', 'rules', join(TELEMETRY, 'alerts.yaml'))
    expect(report).toContain(`SUCCESS: ${alerts.length} rules found`)
  })

  test('they fire when they should, and not before', () => {
    promtoolReport('test', 'rules', join(import.meta.dirname, 'alerts.cases.yaml'))
  })

  test('every expression of the dashboard is valid', () => {
    const rules = targets.map(({ expr }, index) => ({ record: `target_${index}`, expr: inPrometheus(expr) }))
    const report = runPromtool('check', { groups: [{ name: 'dashboard', rules }] })
    expect(report).toContain(`SUCCESS: ${targets.length} rules found`)
  })

  test.each(['Processor time', 'Memory'])(
    'the panel %s has our processes and no others, whatever their job is',
    (title) => {
      const expr = inPrometheus(panels.find((panel) => panel.title === title)?.targets[0]?.expr ?? '')
      const metric = /process_[a-z_]+/.exec(expr)?.[0] ?? ''
      // The labels that the usual job for annotated pods gives.
      const labels = (pod: string) => `{instance="${pod}:9094",job="kubernetes-pods",pod="${pod}"}`
      runPromtool('test', {
        tests: [
          {
            interval: '1m',
            input_series: [
              { series: `multihub_build_info${labels('ours')}`, values: '1x10' },
              { series: `${metric}${labels('ours')}`, values: '60+60x10' },
              { series: `${metric}${labels('other')}`, values: '60+60x10' },
            ],
            promql_expr_test: [
              {
                expr: `count by (instance, job, pod) (${expr})`,
                eval_time: '10m',
                exp_samples: [{ labels: labels('ours'), value: 1 }],
              },
            ],
          },
        ],
      })
    },
  )
})

/** Whether the lines of a target differ by these labels alone, or are those of its metric, and their legend says so. */
function areShown({ expr, legendFormat }: Target, labels: readonly string[]): boolean {
  const kept = /\bby \(([^)]*)\)/.exec(expr)?.[1]?.split(', ')
  const are_kept = kept === undefined ? !/\b(sum|max|count)\s*\(/.test(expr) : kept.join() === labels.join()
  return (
    are_kept && (legendFormat === undefined || labels.every((label) => legendFormat.includes(`{{${label}}}`)))
  )
}

/** The unit of the values of an expression. */
function unitOf(expr: string): unknown {
  if (/^rate\((process_cpu|multihub_event_loop)/.test(expr)) return 'percentunit'
  if (expr.includes('histogram_quantile')) return 's'
  if (expr.includes('rate(')) return expect.stringMatching(/^(reqps|ops)$/)
  if (/_seconds\b/.test(expr)) return 's'
  return /_bytes\b/.test(expr) ? 'bytes' : 'short'
}

/** An expression with the values that Grafana gives to its variables, for series without a namespace. */
function inPrometheus(expr: string): string {
  return expr.replaceAll('$__rate_interval', '5m').replaceAll('$namespace', '')
}

/** The names of the metrics in a text, each once, in order. */
function metricsIn(text: string): readonly string[] {
  return [...new Set((text.match(/multihub_[a-z_]+/g) ?? []).map(baseOf))].sort()
}

/** The name of a metric, without the part of a histogram. */
function baseOf(name: string): string {
  return name.replace(/_(bucket|count|sum)$/, '')
}
