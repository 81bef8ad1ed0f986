import { expect, test } from '@jest/globals'
import { ROLES } from '#lib/role/role.ts'
import {
  type Check,
  type Labels,
  LIMITS,
  type Limit,
  mixedVersions,
  STEP_S,
  seriesOf,
} from './alert-limits.fixture.ts'
import { alerts, COMPARED, describePromtool, runPromtool } from './promtool.fixture.ts'

test('every alert has a limit here, or a test of its own', () => {
  // Alerts of two metrics have their limits in alerts.cases.yaml, and alerts that compare with last week in alert-day.test.ts.
  const of_two = ['MultihubAutoscalerAtEnd', 'MultihubDiskFull', 'MultihubEventLoopBlocked']
  const own = [...COMPARED, ...of_two, 'MultihubRoleGone', 'MultihubLedgerVerificationLate']
  expect([...LIMITS.keys(), ...own].sort()).toEqual(alerts.map(({ alert }) => alert).sort())
})

describePromtool('with promtool', () => {
  test.each([...LIMITS])('%s fires just over its limit, and for one system only', (alert, limit) => {
    checkLimit(alert, limit)
  })

  test('releases that differ by the version only are different too', () => {
    checkLimit('MultihubVersionsMixed', mixedVersions('version="2",commit="a"'))
  })

  test.each(ROLES.filter((role) => role !== 'sandbox'))('MultihubRoleGone: %s never started', (missing) => {
    const present = ROLES.filter((role) => role !== missing && role !== 'sandbox')
    checkFiring('MultihubRoleGone', {
      series: present.map((role) => seriesOf('multihub_build_info', 'over', ['a', `role="${role}"`, '1x20'])),
      labels: { severity: 'critical', role: missing },
      checks: [
        [165, false],
        [180, true],
      ],
    })
  })

  test('MultihubRoleGone: the role of one system of two ended, for a week', () => {
    const hour = 3600
    const present = ROLES.filter((role) => role !== 'gateway' && role !== 'sandbox')
    const info = (namespace: string, role: string, values: string) =>
      seriesOf('multihub_build_info', namespace, ['a', `role="${role}"`, values])
    checkFiring('MultihubRoleGone', {
      series: [
        ...present.map((role) => info('over', role, '1x200')),
        info('over', 'gateway', '1x2 stale'),
        info('under', 'gateway', '1x200'),
      ],
      labels: { namespace: 'over', severity: 'critical', role: 'gateway' },
      interval: '1h',
      checks: [
        [2 * hour, false],
        [4 * hour, true],
        [165 * hour, true],
        [175 * hour, false],
      ],
    })
  })

  test('MultihubRoleGone: it is one alert when the only system has lost a role', () => {
    const info = (role: string, values: string) =>
      seriesOf('multihub_build_info', 'over', ['a', `role="${role}"`, values])
    checkFiring('MultihubRoleGone', {
      series: ROLES.map((role) => info(role, role === 'gateway' ? '1x4 stale' : '1x30')),
      labels: { namespace: 'over', severity: 'critical', role: 'gateway' },
      checks: [
        [240, false],
        [300, true],
      ],
    })
  })
})

function checkLimit(alert: string, limit: Limit): void {
  const severity = alerts.find((rule) => rule.alert === alert)?.labels.severity ?? ''
  const series = (['over', 'under'] as const).flatMap((namespace) =>
    limit[namespace].map((each) => seriesOf(limit.metric, namespace, each)),
  )
  checkFiring(alert, {
    series,
    labels: { severity, namespace: 'over', ...limit.labels },
    checks: limit.checks,
  })
}

/** Evaluates the rule of one alert, and compares what fires at each time. */
function checkFiring(
  alert: string,
  given: {
    readonly series: readonly object[]
    readonly labels: Labels
    readonly checks: readonly Check[]
    readonly interval?: string
  },
): void {
  const rules = alerts.filter((rule) => rule.alert === alert)
  const interval = given.interval ?? `${STEP_S}s`
  const labels = Object.entries({ alertname: alert, alertstate: 'firing', ...given.labels })
  const sample = {
    labels: `ALERTS{${labels.map(([name, value]) => `${name}="${value}"`).join(',')}}`,
    value: 1,
  }
  runPromtool(
    'test',
    {
      rule_files: ['rules.yaml'],
      evaluation_interval: interval,
      tests: [
        {
          interval,
          input_series: given.series,
          promql_expr_test: given.checks.map(([at_s, fires]) => ({
            expr: 'ALERTS{alertstate="firing"}',
            eval_time: `${at_s}s`,
            exp_samples: fires ? [sample] : [],
          })),
        },
      ],
    },
    { groups: [{ name: 'one', interval, rules }] },
  )
}
