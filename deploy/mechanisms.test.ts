import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import {
  buildOverlay,
  commandsOf,
  containerOf,
  describeManifests,
  describeOverlays,
  type Manifest,
  type Probe,
  serversOf,
  startersOf,
  workloadsOf,
} from './manifests.fixture.ts'

/** How long a start waits for its servers (R2): no probe may end the process before. */
const START_WAIT_S = 60
const HEALTH_PORT = 9094
const USER = /^USER (\d+)/m.exec(readFileSync(join(import.meta.dirname, 'image/Dockerfile'), 'utf8'))?.[1]

describeOverlays('in %s', (overlay) => {
  const manifests = buildOverlay(overlay)
  const named = (workloads: readonly Manifest[]): [string, Manifest][] =>
    workloads.map((workload) => [workload.metadata.name, workload])

  test('the namespace refuses pods with more rights', () => {
    const [namespace, ...others] = manifests.filter(({ kind }) => kind === 'Namespace')
    expect(others).toEqual([])
    expect(namespace?.metadata).toMatchObject({
      labels: {
        'pod-security.kubernetes.io/enforce': 'restricted',
        'pod-security.kubernetes.io/enforce-version': 'latest',
        'pod-security.kubernetes.io/warn': 'restricted',
      },
    })
  })

  test.each(named(workloadsOf(manifests)))(
    '%s runs as the user of the image, whose group owns the files',
    (_, pods) => {
      const id = Number(USER)
      expect(pods.spec.template.spec).toMatchObject({
        securityContext: { runAsUser: id, runAsGroup: id, fsGroup: id },
      })
    },
  )

  test.each(named(startersOf(manifests)))(
    '%s runs an image whose release the overlay chooses',
    (name, pods) => {
      expect(containerOf(pods).image).toMatch(
        name === 'clamav' ? /@sha256:[0-9a-f]{64}$/ : /^multihub:[\d.]+$/,
      )
    },
  )

  test.each(named(workloadsOf(manifests)))('%s looks up complete names only', (_, pods) => {
    expect(pods.spec.template.spec).toMatchObject({
      dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
    })
    const names = containerOf(pods).env.flatMap(
      ({ value = '' }) => value.match(/\$\(POD_NAMESPACE\)[^:/]*/g) ?? [],
    )
    for (const name of names) expect(name).toBe('$(POD_NAMESPACE).svc.cluster.local')
  })

  test.each(named(startersOf(manifests)))(
    '%s requests what it needs, and only its memory is limited',
    (_, pods) => {
      const { requests = {}, limits = {} } = containerOf(pods).resources ?? {}
      expect(requests).toEqual({ cpu: expect.anything(), memory: expect.any(String) })
      expect(Object.keys(limits)).toEqual(['memory'])
      expect(bytesOf(limits.memory)).toBeGreaterThanOrEqual(2 * bytesOf(requests.memory))
    },
  )

  test.each(named(workloadsOf(manifests)))(
    '%s cannot change its secrets, and no other user reads them',
    (_, pods) => {
      const secrets = pods.spec.template.spec.volumes.filter(({ secret }) => secret !== undefined)
      expect(secrets.length).toBeGreaterThan(0)
      for (const { name, secret } of secrets) {
        expect([name, secret?.defaultMode]).toEqual([name, 0o440])
        const mounts = containerOf(pods).volumeMounts.filter((mount) => mount.name === name)
        expect(mounts).toEqual([expect.objectContaining({ readOnly: true })])
      }
    },
  )

  test.each(named(serversOf(manifests)))('%s knows its callers by the hashes of their tokens', (_, pods) => {
    expect(containerOf(pods).env).toContainEqual({
      name: 'MULTIHUB_RPC_CALLERS',
      valueFrom: { secretKeyRef: { name: 'multihub-rpc', key: 'callers' } },
    })
  })

  test.each(named(serversOf(manifests)))(
    '%s has time to start, and is not ended because it is busy',
    (_, pods) => {
      const { startupProbe, livenessProbe, readinessProbe } = containerOf(pods)
      expect(patienceOf(startupProbe)).toBeGreaterThan(START_WAIT_S)
      expect(patienceOf(livenessProbe)).toBeGreaterThanOrEqual(60)
      expect(livenessProbe?.timeoutSeconds).toBeGreaterThanOrEqual(5)
      // One that is not ready gets no requests soon, but not after one slow answer.
      expect(patienceOf(readinessProbe)).toBeLessThanOrEqual(5)
      expect(readinessProbe?.failureThreshold).toBeGreaterThan(1)
      expect(readinessProbe?.timeoutSeconds).toBeGreaterThan(1)
    },
  )
})

describeManifests('production', () => {
  const manifests = buildOverlay('production')
  const podsOf = (name: string): Manifest =>
    startersOf(manifests).find(({ metadata }) => metadata.name === name) as Manifest
  const objectsOf = (kind: string): readonly Manifest[] => manifests.filter((object) => object.kind === kind)

  test('each balances pod has a name of its own, and all start at the same time', () => {
    const balances = podsOf('balances')
    expect(balances).toMatchObject({
      kind: 'StatefulSet',
      spec: { serviceName: 'balances-peers', podManagementPolicy: 'Parallel' },
    })
    expect(containerOf(balances).env).toEqual(
      expect.arrayContaining([
        { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        {
          name: 'MULTIHUB_BALANCES_SELF_ADDRESS',
          value: '$(POD_NAME).balances-peers.$(POD_NAMESPACE).svc.cluster.local:9090',
        },
      ]),
    )
  })

  test('every pod has the address of each role, at which its service listens', () => {
    const roles = objectsOf('Service').filter(({ spec }) => spec.ports?.some(({ port }) => port === 9090))
    const names = roles.map(({ metadata }) => metadata.name).filter((name) => name !== 'balances-peers')
    expect(names).toHaveLength(7)
    for (const pods of serversOf(manifests))
      expect(containerOf(pods).env).toEqual(
        expect.arrayContaining(
          names.map((name) => ({
            // The service of the gateway itself is for merchants.
            name: `MULTIHUB_${name.replace('-calls', '').toUpperCase()}_ADDRESS`,
            value: `${name}.$(POD_NAMESPACE).svc.cluster.local:9090`,
          })),
        ),
      )
  })

  test('migrate is repeated after a failure, without a limit of time', () => {
    const { spec } = podsOf('migrate')
    expect(spec).toMatchObject({ backoffLimit: 6, template: { spec: { restartPolicy: 'OnFailure' } } })
    expect(spec).not.toHaveProperty('activeDeadlineSeconds')
  })

  test('a command runs once, and never twice at the same time', () => {
    for (const { spec } of commandsOf(manifests))
      expect(spec).toMatchObject({ backoffLimit: 0, template: { spec: { restartPolicy: 'Never' } } })
    const jobs = objectsOf('CronJob')
    expect(jobs).toHaveLength(5)
    for (const { spec } of jobs) expect(spec).toMatchObject({ concurrencyPolicy: 'Forbid' })
  })

  test('an autoscaler keeps a reserve, and takes pods away slowly', () => {
    const autoscalers = objectsOf('HorizontalPodAutoscaler')
    expect(autoscalers).toHaveLength(3)
    for (const { spec } of autoscalers)
      expect(spec).toMatchObject({
        minReplicas: 2,
        maxReplicas: 10,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
          },
        ],
        behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
      })
  })

  test('a backup is on a volume that outlives its pod, and so are the signatures of the scanner', () => {
    const backup = podsOf('backup')
    const directory = containerOf(backup).args.at(-1) ?? ''
    const mount = containerOf(backup).volumeMounts.find(({ mountPath }) =>
      directory.startsWith(`${mountPath}/`),
    )
    const volume = backup.spec.template.spec.volumes.find(({ name }) => name === mount?.name)
    const [claim] = objectsOf('PersistentVolumeClaim')
    expect(volume).toMatchObject({ persistentVolumeClaim: { claimName: claim?.metadata.name } })
    expect(podsOf('clamav').spec).toMatchObject({
      volumeClaimTemplates: [{ metadata: { name: 'signatures' } }],
    })
    expect(containerOf(podsOf('clamav')).volumeMounts).toContainEqual({
      name: 'signatures',
      mountPath: '/var/lib/clamav',
    })
  })

  test('Prometheus finds the metrics of every pod that serves', () => {
    for (const { spec } of serversOf(manifests))
      expect(spec.template.metadata).toMatchObject({
        annotations: {
          'prometheus.io/scrape': 'true',
          'prometheus.io/port': `${HEALTH_PORT}`,
          'prometheus.io/path': '/metrics',
        },
      })
  })

  test.each([
    ['multihub-alerts', 'alerts.yaml', {}],
    ['multihub-dashboard', 'dashboard.json', { labels: { grafana_dashboard: '1' } }],
  ])('the ConfigMap %s has the file %s, under the name that the pages tell', (name, file, metadata) => {
    const found = objectsOf('ConfigMap').filter((object) => object.metadata.name === name)
    const text = readFileSync(join(import.meta.dirname, 'components/telemetry', file), 'utf8')
    expect(found).toEqual([expect.objectContaining({ data: { [file]: text } })])
    expect(found).toMatchObject([{ metadata }])
  })

  test('the scanner starts as the unprivileged user of its image, and has minutes to load its signatures', () => {
    const scanner = podsOf('clamav')
    expect(scanner.spec.template.spec).toMatchObject({
      securityContext: { runAsUser: 100, runAsGroup: 101, fsGroup: 101 },
    })
    const container = containerOf(scanner)
    const probe = { tcpSocket: { port: 'clamd' } }
    expect(container).toMatchObject({
      command: ['/init-unprivileged'],
      startupProbe: probe,
      readinessProbe: probe,
      livenessProbe: probe,
    })
    expect(patienceOf(container.startupProbe)).toBeGreaterThanOrEqual(300)
    expect(patienceOf(container.livenessProbe)).toBeGreaterThanOrEqual(60)
  })
})

describeManifests('development', () => {
  test('the embedded store is on a volume that outlives its pod', () => {
    const [pods] = serversOf(buildOverlay('development'))
    expect(pods?.spec.template.spec.volumes).toContainEqual({
      name: 'data',
      persistentVolumeClaim: { claimName: 'multihub-data' },
    })
    expect(pods && containerOf(pods).volumeMounts).toContainEqual({ name: 'data', mountPath: '/data' })
  })
})

/** How many seconds a probe may fail before Kubernetes acts. The defaults are those of Kubernetes. */
function patienceOf({ periodSeconds = 10, failureThreshold = 3 }: Probe = {}): number {
  return periodSeconds * failureThreshold
}

/** A quantity of memory such as `512Mi` in bytes; NaN for other units. */
function bytesOf(quantity: string | number = ''): number {
  const [, digits, unit] = /^(\d+)([MG])i$/.exec(`${quantity}`) ?? []
  return Number(digits) * (unit === 'G' ? 2 ** 30 : 2 ** 20)
}
