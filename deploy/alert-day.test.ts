import { expect, test } from '@jest/globals'
import { ROLES } from '#lib/role/role.ts'
import { DAYS, type Fault, seriesOfDay } from './alert-day.fixture.ts'
import { alerts, COMPARED, describePromtool, runPromtool } from './promtool.fixture.ts'

/** The alerts that compare with last week, each with what makes it fire. The day of `nothing` is an ordinary one. */
const FIRES: Readonly<Record<Fault, string | undefined>> = {
  nothing: undefined,
  callbacks: 'MultihubCallbacksStopped',
  declines: 'MultihubSuccessRateFell',
  slow_creates: 'MultihubPaymentInSlow',
  no_results: 'MultihubPaymentsPending',
}
const FAULTS = Object.keys(FIRES) as readonly Fault[]

test('every alert that compares with last week has a fault of the day', () => {
  expect(Object.values(FIRES).filter((name) => name !== undefined)).toEqual(COMPARED)
})

describePromtool('with promtool', () => {
  test('an ordinary day has no alert, and each fault of an evening has its own alone', () => {
    // Every role runs, so this one has nothing to see here, and would take minutes. It has tests of its own.
    const rules = alerts.filter(({ alert }) => alert !== 'MultihubRoleGone')
    const info = ROLES.map((role) => ({
      series: `multihub_build_info{namespace="nothing",role="${role}"}`,
      values: `1x${DAYS * 1_440}`,
    }))
    const fired = FAULTS.flatMap((namespace) => {
      const alertname = FIRES[namespace]
      return alertname === undefined
        ? []
        : [{ labels: `{alertname="${alertname}",namespace="${namespace}"}`, value: 1 }]
    })
    runPromtool(
      'test',
      {
        rule_files: ['rules.yaml'],
        evaluation_interval: '5m',
        tests: [
          {
            interval: '1m',
            input_series: [...info, ...FAULTS.flatMap((fault) => seriesOfDay(fault, fault))],
            promql_expr_test: [
              {
                expr: 'count by (alertname, namespace) (count by (alertname, namespace) (count_over_time(ALERTS{alertstate="firing"}[23h59m])))',
                eval_time: `${DAYS * 1_440 - 1}m`,
                exp_samples: fired,
              },
            ],
          },
        ],
      },
      { groups: [{ name: 'day', interval: '5m', rules }] },
    )
  })
})
