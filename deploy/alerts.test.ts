import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { ROLES } from '#lib/platform/process/role.ts'
import { describeMetrics } from '#lib/platform/telemetry/metrics.ts'
import { loadRoles } from '../roles.ts'
import { findInstalledProgram } from '../test/support/needs.ts'

/** One rule of the file of alerts. */
interface Alert {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

const FOLDER = join(import.meta.dirname, 'components/telemetry')
const RUNBOOKS = 'docs/operators/runbooks'
const alerts: readonly Alert[] = parse(readFileSync(join(FOLDER, 'alerts.yaml'), 'utf8')).groups[0].rules
const dashboard = readFileSync(join(FOLDER, 'dashboard.json'), 'utf8')

const promtool = findInstalledProgram('promtool')

test('every metric of an alert is on the dashboard, and the dashboard has exactly those of the code', async () => {
  await loadRoles(ROLES)
  await import('#lib/platform/telemetry/otlp.ts')
  const in_code = describeMetrics().map(({ name }) => name)
  const on_dashboard = metricsIn(dashboard)
  expect(in_code.length).toBeGreaterThan(40)
  expect(on_dashboard).toEqual(in_code)
  expect(
    alerts.flatMap(({ expr }) => metricsIn(expr)).filter((name) => !on_dashboard.includes(name)),
  ).toEqual([])
})

test('every label by which an alert or the dashboard selects or groups is one of its metric', async () => {
  await loadRoles(ROLES)
  const known = new Map(describeMetrics().map(({ name, labels }) => [name, new Set(labels)]))
  const selected = [...alerts.map(({ expr }) => expr), dashboard.replaceAll('\\"', '"')].flatMap((text) =>
    [...text.matchAll(/(multihub_[a-z_]+)\{([^}]+)\}/g)].flatMap(([, metric = '', labels = '']) =>
      [...labels.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => ({
        metric: baseOf(metric),
        label,
      })),
    ),
  )
  expect(selected.length).toBeGreaterThan(5)
  expect(selected.filter(({ metric, label }) => !known.get(metric)?.has(label))).toEqual([])
})

test('every alert has a runbook that quotes it, and every runbook an alert', () => {
  for (const { alert, expr, annotations } of alerts) {
    expect(existsSync(annotations.runbook)).toBe(true)
    expect(readFileSync(annotations.runbook, 'utf8')).toContain(`Alert \`${alert}\`: \`${expr}\``)
  }
  const pages = readdirSync(RUNBOOKS).map((page) => join(RUNBOOKS, page))
  expect(pages.sort()).toEqual(alerts.map(({ annotations }) => annotations.runbook).sort())
})

;(promtool === undefined ? describe.skip : describe)('with promtool', () => {
  test('the alerts are valid', () => {
    const report = execFileSync(promtool ?? '', ['check', 'rules', join(FOLDER, 'alerts.yaml')], {
      encoding: 'utf8',
    })
    expect(report).toContain(`SUCCESS: ${alerts.length} rules found`)
  })

  test('they fire when they should, and not before', () => {
    execFileSync(promtool ?? '', ['test', 'rules', join(import.meta.dirname, 'alerts.cases.yaml')])
  })
})

/** The names of the metrics in a text, each once, in order. */
function metricsIn(text: string): readonly string[] {
  return [...new Set((text.match(/multihub_[a-z_]+/g) ?? []).map(baseOf))].sort()
}

/** The name of a metric, without the part of a histogram. */
function baseOf(name: string): string {
  return name.replace(/_(bucket|count|sum)$/, '')
}
