import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
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

test('every metric of an alert or of the dashboard is one of the code', () => {
  const in_code = new Set(metricsIn(['lib', 'services', 'gateway'].map(readSources).join('\n')))
  const used = [...alerts.map(({ expr }) => expr), dashboard].flatMap(metricsIn)
  expect(used.length).toBeGreaterThan(30)
  const unknown = used.filter((name) => !in_code.has(name.replace(/_(bucket|count|sum)$/, '')))
  expect(unknown).toEqual([])
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

function metricsIn(text: string): readonly string[] {
  return text.match(/multihub_[a-z_]+/g) ?? []
}

function readSources(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n')
}
