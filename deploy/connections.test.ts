import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { readConfig } from '#lib/base/config/config.ts'
import { PROCESS_SETTINGS } from '../app/process-settings.ts'
import {
  buildOverlay,
  containerOf,
  describeManifests,
  type Manifest,
  serversOf,
} from './manifests.fixture.ts'

/** The most connections that all pods together may open to one MongoDB server. docs/operators/sizing.md says why. */
const BUDGET = 3_000
/** The driver watches each server over two connections of its own, which the setting does not count. */
const MONITORING = 2

const manifests = buildOverlay('production')

describeManifests('connections of production to a MongoDB server', () => {
  const most = new Map(
    manifests
      .filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
      .map(({ spec }) => [spec.scaleTargetRef?.name, spec.maxReplicas]),
  )
  const rows = serversOf(manifests).map((workload) => {
    const pods = most.get(workload.metadata.name) ?? workload.spec.replicas ?? 1
    const in_update = pods + surgeOf(workload, pods)
    const per_pod = connectionsOf(workload) + MONITORING
    return { role: workload.metadata.name, in_update, per_pod, sum: in_update * per_pod }
  })

  test('stay below the budget with the most pods of every role, during an update too', () => {
    const total = rows.reduce((sum, row) => sum + row.sum, 0)
    expect(rows).toHaveLength(9)
    expect(total).toBeLessThan(BUDGET)
    const page = readFileSync('docs/operators/sizing.md', 'utf8')
    for (const { role, in_update, per_pod, sum } of rows)
      expect(page).toContain(`| ${role} | ${in_update} | ${per_pod} | ${sum} |`)
    expect(page).toContain(`| all | | | ${total.toLocaleString('en')} of ${BUDGET.toLocaleString('en')} |`)
  })
})

/** The setting of a container, as its process reads it. */
function connectionsOf(workload: Manifest): number {
  const container = containerOf(workload)
  const shared = manifests.find(({ metadata }) => metadata.name.startsWith('multihub-settings-'))
  const variables = {
    ...(container.envFrom !== undefined && shared?.data),
    ...Object.fromEntries(container.env.map(({ name, value }) => [name, value])),
  }
  return readConfig({ connections: PROCESS_SETTINGS.mongodb_connections }, variables).connections
}

/** The pods that an update may add. Kubernetes adds a quarter, rounded up, to a Deployment that says nothing else. */
function surgeOf({ kind, spec }: Manifest, pods: number): number {
  if (kind !== 'Deployment' || spec.strategy?.type === 'Recreate') return 0
  const surge = spec.strategy?.rollingUpdate?.maxSurge ?? '25%'
  return typeof surge === 'number' ? surge : Math.ceil((pods * Number.parseInt(surge, 10)) / 100)
}
