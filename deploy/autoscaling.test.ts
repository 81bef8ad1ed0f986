import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { parseAllDocuments } from 'yaml'
import { CALLS_MAX } from '#lib/rpc/settings.ts'
import { buildFolder, buildOverlay, describeManifests, type Manifest } from './manifests.fixture.ts'
import { describePromtool, runPromtool } from './promtool.fixture.ts'
import { withVariant } from './variants.fixture.ts'

/** The parts of a ScaledObject that the tests read. */
interface ScaledObject {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly scaleTargetRef: { readonly name: string }
    readonly minReplicaCount: number
    readonly maxReplicaCount: number
    readonly triggers: readonly {
      readonly name: string
      readonly metadata: { readonly threshold: string; readonly query: string }
    }[]
  }
}

const file = join(import.meta.dirname, 'components/autoscaling-keda/scaled-objects.yaml')
const scaled = parseAllDocuments(readFileSync(file, 'utf8')).map((each) => each.toJS() as ScaledObject)
const triggers = scaled.flatMap(({ metadata, spec }) =>
  spec.triggers.map(({ name, metadata: { threshold, query } }) => ({
    name: `${metadata.name} ${name}`,
    threshold: Number(threshold),
    query,
  })),
)

test('RPCs start processes when a quarter of the slots is in use, and a gateway goes by its event loop', () => {
  const calls = triggers.filter(({ name }) => name.endsWith(' calls'))
  expect(calls.map(({ name, threshold }) => [name, threshold])).toEqual([
    ['payments calls', CALLS_MAX / 4],
    ['notifier calls', CALLS_MAX / 4],
  ])
  expect(triggers.filter(({ name }) => name.endsWith(' event-loop'))).toHaveLength(scaled.length)
})

describeManifests('with kustomize', () => {
  const before = buildOverlay('production')
  const after: readonly Manifest[] = withVariant(['autoscaling-keda'], '', buildFolder)
  const ofKind = (manifests: readonly Manifest[], kind: string) =>
    manifests.filter((each) => each.kind === kind)

  test('KEDA scales the same roles between the same numbers of pods, instead of the other autoscalers', () => {
    expect(ofKind(after, 'HorizontalPodAutoscaler')).toEqual([])
    const built = ofKind(after, 'ScaledObject') as readonly unknown[] as readonly ScaledObject[]
    expect(
      built.map(({ spec }) => [spec.scaleTargetRef.name, spec.minReplicaCount, spec.maxReplicaCount]).sort(),
    ).toEqual(
      ofKind(before, 'HorizontalPodAutoscaler')
        .map(({ spec }) => [spec.scaleTargetRef?.name, spec.minReplicas, spec.maxReplicas])
        .sort(),
    )
    for (const { spec } of built)
      expect(spec).toMatchObject({
        advanced: {
          horizontalPodAutoscalerConfig: {
            name: spec.scaleTargetRef.name,
            behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
          },
        },
      })
  })

  test('the number of pods of a scaled role is not in its manifest', () => {
    const roles = new Set(scaled.map(({ metadata }) => metadata.name))
    const deployments = ofKind(after, 'Deployment').filter(({ metadata }) => roles.has(metadata.name))
    expect(deployments).toHaveLength(roles.size)
    for (const { spec } of deployments) expect(spec).not.toHaveProperty('replicas')
  })
})

/** The metrics of two pods of each role and of a pod of another system, all with the same values. */
function seriesOf(values: Readonly<Record<string, string>>): readonly object[] {
  const pods = scaled.flatMap(({ metadata: { name } }) => [
    { role: name, labels: `namespace="multihub",instance="${name}-1"` },
    { role: name, labels: `namespace="multihub",instance="${name}-2"` },
    { role: name, labels: `namespace="other",instance="${name}-1"` },
  ])
  return pods.flatMap(({ role, labels }) => [
    { series: `multihub_build_info{${labels},role="${role}"}`, values: '1x20' },
    ...Object.entries(values).map(([series, text]) => ({
      series: series.replace('{', `{${labels},`),
      values: text,
    })),
  ])
}

/** What all triggers measure after five minutes, for each pod, in parts of the threshold: above 1 there are too few pods. */
function expectParts(
  values: Readonly<Record<string, string>>,
  parts: Readonly<Record<string, number>>,
): void {
  runPromtool('test', {
    tests: [
      {
        interval: '15s',
        input_series: seriesOf(values),
        promql_expr_test: triggers.map(({ name, threshold, query }) => ({
          expr: `round((${query}) / ${2 * threshold}, 0.01)`,
          eval_time: '5m',
          exp_samples: [{ labels: '{}', value: parts[name.split(' ')[1] ?? ''] }],
        })),
      },
    ],
  })
}

describePromtool('with promtool', () => {
  const rest = {
    'multihub_event_loop_seconds_total{state="active"}': '0+1.5x20',
    'multihub_event_loop_seconds_total{state="idle"}': '0+13.5x20',
    'multihub_call_slots_in_use{calls="rpc"}': '5x20',
    'multihub_effects_due{documents="payments",lane="money"}': '2x20',
    'multihub_effects_due{documents="payments",lane="event"}': '2x20',
  }

  test.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, number>>]>([
    [
      'a provider that hangs starts no process, however many calls wait for it and however long',
      {
        'multihub_gateway_requests_in_flight{}': '2500x20',
        'multihub_rpc_in_flight{}': '9000x20',
        'multihub_effects_in_flight{lane="external"}': '9000x20',
        'multihub_effects_due{documents="payments",lane="external"}': '9000x20',
        'multihub_effects_oldest_due_seconds{documents="payments",lane="external"}': '0+15x20',
        'multihub_provider_circuit_open{provider_account="p"}': '1x20',
      },
      { 'event-loop': 0.14, calls: 0, effects: 0.02 },
    ],
    [
      'busy event loops, full slots and work that no process takes do',
      {
        'multihub_event_loop_seconds_total{state="active"}': '0+13.5x20',
        'multihub_call_slots_in_use{calls="rpc"}': '5000x20',
        'multihub_effects_due{documents="payments",lane="money"}': '1000x20',
      },
      { 'event-loop': 1.29, calls: 2, effects: 5.01 },
    ],
    [
      'effects that were due for a moment only do not',
      { 'multihub_effects_due{documents="payments",lane="money"}': '0x18 1000x2' },
      { 'event-loop': 0.14, calls: 0, effects: 0.01 },
    ],
  ])('%s', (_what, values, parts) => expectParts({ ...rest, ...values }, parts))
})
