import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import {
  buildOverlay,
  containerOf,
  describeManifests,
  describeOverlays,
  type Labels,
  type Manifest,
  NAME_LABEL,
  serversOf,
  startersOf,
  workloadsOf,
} from './manifests.fixture.ts'

/** How long a process may take to end after its drain, as `terminationGracePeriodSeconds` counts on. */
const STOP_S = 15
const CLAMD_CONF = readFileSync(join(import.meta.dirname, 'components/scanner/clamd.conf'), 'utf8')

describeOverlays('every pod of %s', (overlay) => {
  const manifests = buildOverlay(overlay)

  test.each(namedOf(startersOf(manifests)))('%s has no rights on its node and in the cluster', (_, pods) => {
    expect(pods.spec.template.spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(containerOf(pods)).toMatchObject({
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    })
  })

  test.each(namedOf(workloadsOf(manifests)))('%s cannot write its own files', (_, pods) => {
    expect(containerOf(pods)).toMatchObject({ securityContext: { readOnlyRootFilesystem: true } })
  })

  test.each(namedOf(serversOf(manifests)))(
    '%s is asked whether it lives and whether it is ready',
    (_, pods) => {
      const probe = (path: string) => ({ httpGet: { path, port: 'health' } })
      expect(containerOf(pods)).toMatchObject({
        startupProbe: probe('/healthz'),
        livenessProbe: probe('/healthz'),
        readinessProbe: probe('/readyz'),
        ports: expect.arrayContaining([expect.objectContaining({ name: 'health' })]),
      })
    },
  )

  test.each(namedOf(serversOf(manifests)))('%s has time to end its work', (_, pods) => {
    const { sleep_s, drain_s } = endOf(pods)
    // Production has other pods, which get the requests meanwhile.
    if (overlay === 'production') expect(Math.min(sleep_s, drain_s)).toBeGreaterThan(0)
    expect(pods.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(sleep_s + drain_s + STOP_S)
  })
})

describeManifests('production', () => {
  const manifests = buildOverlay('production')
  const autoscalers = new Map(
    manifests
      .filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
      .map(({ spec }) => [
        `${spec.scaleTargetRef?.kind} ${spec.scaleTargetRef?.name}`,
        spec.minReplicas ?? 1,
      ]),
  )
  const leastOf = ({ kind, metadata, spec }: Manifest): number =>
    autoscalers.get(`${kind} ${metadata.name}`) ?? spec.replicas ?? 1

  const scanner = startersOf(manifests).filter(({ metadata }) => metadata.name === 'clamav')
  const lasting = [...serversOf(manifests), ...scanner]

  test.each(namedOf(lasting))('%s is spread over nodes and zones', (_, { spec }) => {
    const { labels } = spec.template.metadata
    const constraints = spec.template.spec.topologySpreadConstraints ?? []
    expect(constraints.map(({ topologyKey }) => topologyKey)).toEqual([
      'kubernetes.io/hostname',
      'topology.kubernetes.io/zone',
    ])
    for (const { labelSelector, matchLabelKeys = [], maxSkew, whenUnsatisfiable } of constraints) {
      expect({ maxSkew, whenUnsatisfiable }).toEqual({ maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' })
      expect(labels).toMatchObject(labelSelector.matchLabels)
      // Pods of other roles and of other versions do not count.
      const compared = [...Object.keys(labelSelector.matchLabels), ...matchLabelKeys]
      expect(compared).toContain(NAME_LABEL)
      if (labels[NAME_LABEL] !== 'clamav') expect(compared).toContain('pod-template-hash')
    }
  })

  test.each(namedOf(lasting.filter(({ metadata }) => metadata.name !== 'sandbox')))(
    '%s has several pods, and an eviction leaves some',
    (_, workload) => {
      const budgets = manifests.filter(
        ({ kind, spec }) => kind === 'PodDisruptionBudget' && isSelected(spec.selector, workload),
      )
      expect(leastOf(workload)).toBeGreaterThan(1)
      expect(budgets.map(({ spec }) => [spec.maxUnavailable, spec.unhealthyPodEvictionPolicy])).toEqual([
        [1, 'AlwaysAllow'],
      ])
    },
  )

  test('the number of pods is that of the manifest or that of the autoscaler, never both', () => {
    const scaled = serversOf(manifests).filter(({ spec }) => spec.replicas === undefined)
    expect(scaled.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual(
      [...autoscalers.keys()].sort(),
    )
    expect(scaled).toHaveLength(3)
  })

  test('calls of a role are spread over its pods, because its service has no address of its own', () => {
    const services = manifests.filter(
      ({ kind, spec }) => kind === 'Service' && spec.ports?.some(({ port }) => port === 9090),
    )
    expect(services).toHaveLength(8)
    for (const { metadata, spec } of services)
      expect([metadata.name, spec.clusterIP]).toEqual([metadata.name, 'None'])
  })

  test('balances processes find each other before they are ready, and callers only then', () => {
    const services = manifests.filter(
      ({ kind, spec }) => kind === 'Service' && spec.publishNotReadyAddresses === true,
    )
    const balances = serversOf(manifests).find(({ metadata }) => metadata.name === 'balances')
    expect(services.map(({ metadata }) => metadata.name)).toEqual([balances?.spec.serviceName])
  })

  test('uploaded files have a scanner, at the address that attachments calls', () => {
    const scanner = manifests.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'clamav')
    const attachments = serversOf(manifests).find(({ metadata }) => metadata.name === 'attachments')
    const address = attachments && settingOf(attachments, 'MULTIHUB_SCANNER')
    expect(address).toContain(`//clamav.$(POD_NAMESPACE).svc.cluster.local:${scanner?.spec.ports?.[0]?.port}`)
    expect(
      startersOf(manifests).some((pods) => isSelected({ matchLabels: scanner?.spec.selector }, pods)),
    ).toBe(true)
  })

  // F5
  test('the scanner has a limit of memory, reports what it could not scan, and starts again when clamd has ended', () => {
    const pods = startersOf(manifests).find(({ metadata }) => metadata.name === 'clamav') as Manifest
    expect(containerOf(pods)).toMatchObject({
      livenessProbe: { tcpSocket: { port: 'clamd' } },
      resources: { limits: { memory: expect.stringMatching(/^\d+Gi$/) } },
      volumeMounts: expect.arrayContaining([
        { name: 'settings', mountPath: '/etc/clamav/clamd.conf', subPath: 'clamd.conf', readOnly: true },
      ]),
    })
    const settings = manifests.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('clamav-'),
    )
    expect(pods.spec.template.spec.volumes).toContainEqual({
      name: 'settings',
      configMap: { name: settings?.metadata.name },
    })
    expect(settings).toMatchObject({ data: { 'clamd.conf': CLAMD_CONF } })
    const page = readFileSync('docs/operators/install.md', 'utf8')
    const named =
      page.match(/`(StreamMaxLength|MaxFileSize|MaxScanSize|MaxScanTime|AlertExceedsMax) \w+`/g) ?? []
    expect(named).toHaveLength(5)
    expect(CLAMD_CONF.split('\n')).toEqual(
      expect.arrayContaining(named.map((words) => words.replaceAll('`', ''))),
    )
  })
})

/** Rows of a table of tests: each workload with its name. */
function namedOf(workloads: readonly Manifest[]): [string, Manifest][] {
  return workloads.map((workload) => [workload.metadata.name, workload])
}

/** How long a pod serves on before it ends: the sleep before SIGTERM, and the drain after it. */
function endOf(workload: Manifest): { readonly sleep_s: number; readonly drain_s: number } {
  const drain = /^(\d+)s$/.exec(settingOf(workload, 'MULTIHUB_DRAIN') ?? '0s')?.[1]
  return {
    sleep_s: containerOf(workload).lifecycle?.preStop.sleep.seconds ?? 0,
    drain_s: Number(drain),
  }
}

function settingOf(workload: Manifest, variable: string): string | undefined {
  return containerOf(workload).env.find(({ name }) => name === variable)?.value
}

/** Whether a selector of labels, which has no expressions, selects the pods of a workload. */
function isSelected(selector: unknown, { spec }: Manifest): boolean {
  const { matchLabels } = selector as { readonly matchLabels?: Labels }
  return Object.entries(matchLabels ?? {}).every(
    ([label, value]) => spec.template.metadata.labels[label] === value,
  )
}
