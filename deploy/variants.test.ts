import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { Ajv } from 'ajv'
import {
  buildFolder,
  containerOf,
  describeManifests,
  type Manifest,
  serversOf,
  workloadsOf,
} from './manifests.fixture.ts'
import { makeSecretManifests } from './secrets.fixture.ts'
import { type Definition, readDefinitions, VARIANTS, withVariant } from './variants.fixture.ts'

/** The parts of the objects of other operators that the tests read. */
interface Custom {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec: {
    readonly rules?: readonly {
      readonly backendRefs?: readonly { readonly name: string; readonly port: number }[]
      readonly http?: {
        readonly paths: readonly {
          readonly backend: {
            readonly service: { readonly name: string; readonly port: { readonly number: number } }
          }
        }[]
      }
    }[]
    readonly tls?: readonly { readonly secretName: string }[]
    readonly listeners?: readonly { readonly protocol: string; readonly hostname: string }[]
    readonly dataFrom?: readonly { readonly extract: { readonly key: string } }[]
  }
}

const build = (components: readonly string[], more = ''): readonly Manifest[] =>
  withVariant(components, more, buildFolder)
const customOf = (manifests: readonly Manifest[], kind: string): readonly Custom[] =>
  (manifests as readonly unknown[] as readonly Custom[]).filter((each) => each.kind === kind)

describeManifests('the components that a cluster may choose', () => {
  test.each(Object.entries(VARIANTS))(
    'production %s has objects that fit the definitions of their kinds',
    (_, components) => {
      const definitions = readDefinitions()
      const custom = (build(components) as readonly unknown[] as readonly Custom[]).filter(({ apiVersion }) =>
        definitions.some(({ spec }) => apiVersion.startsWith(`${spec.group}/`)),
      )
      expect(custom.length).toBeGreaterThan(2)
      for (const object of custom) {
        expect(object.metadata.namespace).toBe('multihub')
        expect([`${object.kind} ${object.metadata.name}`, problemsOf(object, definitions)]).toEqual([
          `${object.kind} ${object.metadata.name}`,
          [],
        ])
      }
    },
  )

  test('the lines of the page of archives mount them read-only where they are read, and nowhere else', () => {
    const page = readFileSync(join(import.meta.dirname, '../docs/operators/archive.md'), 'utf8')
    const lines = /```yaml\n(patches:\n[\s\S]*?)```/.exec(page)?.[1] ?? ''
    const mounting = serversOf(build([], lines)).filter((server) =>
      containerOf(server).volumeMounts?.some(({ mountPath }) => mountPath === '/archive'),
    )
    expect(mounting.map(({ metadata }) => metadata.name).sort()).toEqual(['balances', 'payments'])
    for (const server of mounting) {
      const { env = [], volumeMounts = [] } = containerOf(server)
      expect(env).toContainEqual({ name: 'MULTIHUB_ARCHIVE', value: '/archive' })
      expect(volumeMounts).toContainEqual({ name: 'archive', mountPath: '/archive', readOnly: true })
    }
  })

  test('a field that is misspelled does not fit', () => {
    const [route] = customOf(build(['gateway-api']), 'HTTPRoute')
    const misspelled = {
      ...route,
      spec: { ...route?.spec, hostname: ['api.example.com'] },
    } as unknown as Custom
    expect(problemsOf(misspelled, readDefinitions())).not.toEqual([])
  })

  test('each component is part of production, of a variant, or has tests of its own', () => {
    const chosen = Object.values(VARIANTS).flat()
    const elsewhere = ['prometheus-operator']
    const production = [
      ...[
        'autoscaling',
        'disruption-budgets',
        'network-policies',
        'operations',
        'pods',
        'rpc-tls',
        'scanner',
      ],
      ...['settings', 'spread', 'telemetry'],
    ]
    expect(readdirSync(`${import.meta.dirname}/components`).sort()).toEqual(
      [...chosen, ...elsewhere, ...production].sort(),
    )
  })

  test.each(['gateway-api', 'ingress'])(
    '%s leads both public names over TLS to ports of services',
    (component) => {
      const manifests = build([component])
      const services = manifests.filter(({ kind }) => kind === 'Service')
      const [routes, ingresses] = [customOf(manifests, 'HTTPRoute'), customOf(manifests, 'Ingress')]
      const backends = [...routes, ...ingresses].flatMap(({ spec }) =>
        (spec.rules ?? []).flatMap(({ backendRefs = [], http }) => [
          ...backendRefs,
          ...(http?.paths ?? []).map(({ backend }) => ({
            name: backend.service.name,
            port: backend.service.port.number,
          })),
        ]),
      )
      expect(backends.map(({ name }) => name).sort()).toEqual(['gateway', 'provider-callbacks'])
      for (const { name, port } of backends) {
        const service = services.find(({ metadata }) => metadata.name === name)
        expect(service?.spec.ports?.map((each) => each.port)).toContain(port)
      }
      for (const { spec } of ingresses)
        expect(spec.tls).toEqual([expect.objectContaining({ secretName: 'multihub-public-tls' })])
      for (const { spec } of customOf(manifests, 'Gateway'))
        expect(spec.listeners?.map(({ protocol }) => protocol)).toEqual(['HTTPS', 'HTTPS'])
      expect(routes.length + ingresses.length).toBe(2)
    },
  )

  test('each secret of the script can come from a store outside of the cluster', () => {
    const env = {
      ...process.env,
      MONGODB_URI: 'mongodb://db',
      NATS_URL: 'nats://bus',
      CERTIFICATES: 'none',
    }
    const made = makeSecretManifests(env) as readonly Manifest[]
    const external = customOf(build(['external-secrets']), 'ExternalSecret')
    expect(external.map(({ metadata }) => metadata.name).sort()).toEqual(
      [...new Set(made.map(({ metadata }) => metadata.name))].sort(),
    )
    for (const { metadata, spec } of external)
      expect(spec.dataFrom).toEqual([{ extract: { key: metadata.name } }])
  })

  test('each pod of Multihub has a priority class that is there, and payments come first', () => {
    const manifests = build(['priority-classes']) as readonly (Manifest & { readonly value?: number })[]
    const classes = new Map(
      manifests
        .filter(({ kind }) => kind === 'PriorityClass')
        .map(({ metadata, value }) => [metadata.name, value ?? 0]),
    )
    const priorityOf = ({ spec }: Manifest): number | undefined => {
      const pod = spec.template.spec as { readonly priorityClassName?: string }
      return classes.get(pod.priorityClassName ?? '')
    }
    const values = new Map(workloadsOf(manifests).map((each) => [each.metadata.name, priorityOf(each)]))
    values.delete('migrate')
    expect([...values.values()]).not.toContain(undefined)
    for (const role of ['gateway', 'payments', 'balances', 'merchants'])
      expect(values.get(role)).toBe(Math.max(...classes.values()))
    expect(values.get('backup')).toBe(Math.min(...classes.values()))
  })

  test('a change of the settings changes every pod that serves, so that Kubernetes restarts it', () => {
    const generator = (level: string): string =>
      `configMapGenerator: [{ name: multihub-settings, namespace: multihub, behavior: merge, literals: [MULTIHUB_LOG_LEVEL=${level}] }]\n`
    const namesOf = (manifests: readonly Manifest[]): ReadonlyMap<string, string | undefined> =>
      new Map(
        serversOf(manifests).map((server) => {
          const { envFrom = [] } = containerOf(server) as {
            readonly envFrom?: readonly {
              readonly configMapRef?: { readonly name: string; readonly optional?: boolean }
            }[]
          }
          const names = envFrom.flatMap(({ configMapRef }) => configMapRef?.name ?? [])
          return [server.metadata.name, names.find((name) => name.startsWith('multihub-settings'))]
        }),
      )
    const [before, after] = [build([], generator('info')), build([], generator('debug'))]
    const [names_before, names_after] = [namesOf(before), namesOf(after)]
    expect(names_before.size).toBe(9)
    for (const [server, name] of names_before) {
      expect(name).toMatch(/^multihub-settings-\w{10}$/)
      expect(names_after.get(server)).not.toBe(name)
    }
    const made = after.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === names_after.get('payments'),
    )
    expect(made).toMatchObject({ data: { MULTIHUB_LOG_LEVEL: 'debug' } })
  })
})

/** What does not fit the definition of an object's kind. As a strict server does, it refuses fields that are not defined. */
function problemsOf(object: Custom, definitions: readonly Definition[]): readonly string[] {
  const [group = '', version] = object.apiVersion.split('/')
  const definition = definitions.find(({ spec }) => spec.group === group && spec.names.kind === object.kind)
  const schema = definition?.spec.versions.find(({ name }) => name === version)?.schema.openAPIV3Schema
  if (schema === undefined) return [`${object.apiVersion} ${object.kind} is not defined`]
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
  const fits = ajv.validate(closed(schema), object)
  return fits ? [] : (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/** The schema without room for other fields, except in the metadata, which every kind has. */
function closed(schema: unknown): object {
  const close = (name: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && 'properties' in value && name !== 'properties'
      ? { ...value, additionalProperties: false }
      : value
  return JSON.parse(JSON.stringify(schema, close))
}
