import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { buildFolder, containerOf, describeManifests, type Manifest, serversOf } from './manifests.fixture.ts'

/** The parts of the objects of the Prometheus operator that the tests read. */
interface Monitored {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> }
  readonly spec: {
    readonly groups?: unknown
    readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly podMetricsEndpoints?: readonly { readonly port: string; readonly path: string }[]
  }
}

describeManifests('the component for the Prometheus operator, in the production overlay', () => {
  const objects = buildWithComponent()
  const monitored = (kind: string): Monitored => {
    const [object, ...others] = objects.filter((each) => each.kind === kind)
    expect(others).toEqual([])
    return object as unknown as Monitored
  }

  test('has the alerts of the file for other Prometheus servers', () => {
    const { apiVersion, metadata, spec } = monitored('PrometheusRule')
    expect(apiVersion).toBe('monitoring.coreos.com/v1')
    expect(metadata).toMatchObject({ namespace: 'multihub', labels: { release: expect.any(String) } })
    const alerts = parse(readFileSync(join(import.meta.dirname, 'components/telemetry/alerts.yaml'), 'utf8'))
    expect(spec.groups).toEqual(alerts.groups)
  })

  test('selects the metrics port of every pod that serves, and of no other', () => {
    const { apiVersion, metadata, spec } = monitored('PodMonitor')
    expect(apiVersion).toBe('monitoring.coreos.com/v1')
    expect(metadata).toMatchObject({ namespace: 'multihub', labels: { release: expect.any(String) } })
    const [endpoint, ...others] = spec.podMetricsEndpoints ?? []
    expect(endpoint).toMatchObject({ path: '/metrics' })
    expect(others).toEqual([])
    const selected = (manifest: Manifest): boolean => {
      const { labels } = manifest.spec.template.metadata
      const fits = Object.entries(spec.selector?.matchLabels ?? {}).every(
        ([name, value]) => labels[name] === value,
      )
      const ports = containerOf(manifest).ports ?? []
      return (
        fits && ports.some(({ name, containerPort }) => name === endpoint?.port && containerPort === 9094)
      )
    }
    const servers = serversOf(objects)
    expect(servers.length).toBeGreaterThan(7)
    const pods = objects.filter(({ spec: { template } = {} as Manifest['spec'] }) => template !== undefined)
    expect(pods.filter(selected)).toEqual(servers)
  })
})

/** The production overlay with the component, as an overlay of an operator has it. */
function buildWithComponent(): readonly Manifest[] {
  const folder = mkdtempSync(join(tmpdir(), 'multihub-overlay-'))
  try {
    const path = (name: string): string => relative(folder, resolve(import.meta.dirname, name))
    writeFileSync(
      join(folder, 'kustomization.yaml'),
      `namespace: multihub\nresources: [${path('overlays/production')}]\ncomponents: [${path('components/prometheus-operator')}]\n`,
    )
    return buildFolder(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
