import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parseAllDocuments } from 'yaml'
import { ROLES } from '#lib/platform/process/role.ts'
import {
  buildOverlay,
  type Container,
  canBuild,
  containerOf,
  type Labels,
  type Manifest,
  NAME_LABEL,
  serversOf,
  workloadsOf,
} from './manifests.fixture.ts'
import { readContainerSettings } from './settings.fixture.ts'

const SERVERS = {
  MONGODB_URI: 'mongodb://db.example:27017/?replicaSet=rs',
  NATS_URL: 'nats://bus.example:4222',
}
const describeManifests = canBuild ? describe : describe.skip

describeManifests('the manifests', () => {
  const secrets = readSecrets()

  test.each(['development', 'production'])('every process of %s accepts its settings', async (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'multihub-secrets-'))
    try {
      for (const workload of workloadsOf(buildOverlay(name))) {
        const { args } = containerOf(workload)
        const variables = variablesOf(workload, containerOf(workload), secrets, folder)
        const uri = await readContainerSettings(args, variables)
        expect(uri).toBe(name === 'development' ? undefined : SERVERS.MONGODB_URI)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('production runs every role, each in pods of its own', () => {
    const roles = workloadsOf(buildOverlay('production')).map((workload) => containerOf(workload).args)
    expect(roles.flat().sort()).toEqual([...ROLES, 'migrate'].sort())
  })

  test('every port of a service is a port of its pods', () => {
    for (const name of ['development', 'production']) {
      const manifests = buildOverlay(name)
      for (const service of manifests.filter(({ kind }) => kind === 'Service')) {
        if (service.metadata.name === 'clamav') continue
        const selected = (service.spec.selector as Labels)[NAME_LABEL]
        const pods = workloadsOf(manifests).find(
          ({ spec }) => spec.template.metadata.labels[NAME_LABEL] === selected,
        )
        const ports = (pods && containerOf(pods).ports) ?? []
        const open = ports.flatMap((port) => [port.name, port.containerPort])
        for (const { port, targetPort } of service.spec.ports ?? [])
          expect(open).toContain(targetPort ?? port)
      }
    }
  })

  test('the embedded store has one pod, which ends before the next one starts', () => {
    const [workload, ...others] = workloadsOf(buildOverlay('development'))
    expect(others).toEqual([])
    expect(workload?.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
  })

  test('a process sends traces to the collector that the ConfigMap names, and the network admits it', async () => {
    const manifests = buildOverlay('production')
    for (const workload of serversOf(manifests)) {
      const { env } = containerOf(workload)
      const endpoint = env.find(({ name }) => name === 'OTEL_EXPORTER_OTLP_ENDPOINT')
      expect(endpoint?.valueFrom).toEqual({
        configMapKeyRef: { name: 'multihub-traces', key: 'endpoint', optional: true },
      })
    }
    const policy = manifests.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'traces',
    )
    expect(policy?.spec).toMatchObject({ policyTypes: ['Egress'], egress: [{ ports: [{ port: 4318 }] }] })
  })
})

/** The secrets that the script prints, by `name/key`. */
function readSecrets(): ReadonlyMap<string, string> {
  const text = execFileSync(join(import.meta.dirname, 'make-secrets.sh'), ['kubernetes'], {
    encoding: 'utf8',
    env: { ...process.env, ...SERVERS },
  })
  const entries = parseAllDocuments(text).flatMap((document) => {
    const { metadata, stringData } = document.toJS() as Manifest & { readonly stringData: Labels }
    return Object.entries(stringData).map(([key, value]): [string, string] => [
      `${metadata.name}/${key}`,
      value,
    ])
  })
  return new Map(entries)
}

/** The variables of a container as the cluster makes them, with its files of secrets in a folder. */
function variablesOf(
  { spec }: Manifest,
  { env }: Container,
  secrets: ReadonlyMap<string, string>,
  folder: string,
): Readonly<Record<string, string>> {
  const variables: Record<string, string> = { KUBERNETES_SERVICE_HOST: '10.0.0.1', MULTIHUB_HOST: '0.0.0.0' }
  const used = new Set(spec.template.spec.volumes.map(({ secret }) => secret?.secretName))
  for (const { name, value = '', valueFrom } of env) {
    const { secretKeyRef, fieldRef } = valueFrom ?? {}
    const text =
      secretKeyRef !== undefined
        ? secrets.get(`${secretKeyRef.name}/${secretKeyRef.key}`)
        : (fieldRef?.fieldPath ??
          value.replaceAll(/\$\((\w+)\)/g, (_, other) => variables[other] ?? `undefined ${other}`))
    if (text === undefined || text.includes('undefined')) throw new Error(`${name} has no value`)
    variables[name] = name.endsWith('_FILE') ? writeSecret(text, used, secrets, folder) : text
  }
  return variables
}

/** Writes the secret that is mounted at a path such as `/secrets/shared/master-keys`, and returns its file. */
function writeSecret(
  path: string,
  used: ReadonlySet<string | undefined>,
  secrets: ReadonlyMap<string, string>,
  folder: string,
): string {
  const [, , group, key] = path.split('/')
  const secret = { shared: 'multihub', rpc: 'multihub-rpc', migrate: 'multihub-migrate' }[group ?? '']
  expect(used).toContain(secret)
  const value = secrets.get(`${secret}/${group === 'rpc' ? 'operator' : key}`)
  if (value === undefined) throw new Error(`nothing is mounted at ${path}`)
  const file = join(folder, `${group}-${key}`)
  writeFileSync(file, value)
  return file
}
