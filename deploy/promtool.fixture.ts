import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from '@jest/globals'
import { parse } from 'yaml'
import { findInstalledProgram } from '../test/support/needs.ts'

/** One rule of the file of alerts. */
export interface Alert {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook_url: string }
}

/** The folder of the alerts and the dashboard. */
export const TELEMETRY = join(import.meta.dirname, 'components/telemetry')

/** All alerts. */
export const alerts: readonly Alert[] = parse(readFileSync(join(TELEMETRY, 'alerts.yaml'), 'utf8')).groups[0]
  .rules

/** The alerts that compare with the same hour of last week, in the order of the file. A day of load tests them. */
export const COMPARED: readonly string[] = alerts
  .filter(({ expr }) => expr.includes(' offset '))
  .map(({ alert }) => alert)

const promtool = findInstalledProgram('promtool')

/** `describe` for tests that use promtool. Without it this prints why, and skips them. */
export const describePromtool = promtool === undefined ? describe.skip : describe

/** Runs promtool with these parameters, and returns its report. It throws if promtool finds an error. */
export function promtoolReport(...parameters: readonly string[]): string {
  return execFileSync(promtool ?? '', parameters, { encoding: 'utf8', stdio: 'pipe' })
}

/** Runs `promtool check rules` or `promtool test rules` on a file with this content, and returns the report. */
export function runPromtool(command: 'check' | 'test', content: object, rules: object = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'multihub-rules-'))
  try {
    const file = join(folder, 'content.yaml')
    writeFileSync(file, JSON.stringify(content))
    writeFileSync(join(folder, 'rules.yaml'), JSON.stringify(rules))
    return promtoolReport(command, 'rules', file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
