import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { KEY_PURPOSES, ROLES, ROLES_WITHOUT_BUS, type RoleName } from '#lib/role/role.ts'
import {
  buildOverlay,
  commandsOf,
  containerOf,
  describeManifests,
  type Labels,
  type Manifest,
  NAME_LABEL,
  serversOf,
  workloadsOf,
} from './manifests.fixture.ts'
import { makeSecretManifests } from './secrets.fixture.ts'
import { readContainerSettings } from './settings.fixture.ts'

const SERVERS = {
  MONGODB_URI: 'mongodb://db.example:27017/?replicaSet=rs',
  NATS_URL: 'nats://bus.example:4222',
}

describeManifests('the manifests', () => {
  const secrets = readSecrets()

  test.each(['development', 'production'])('every process of %s accepts its settings', async (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'multihub-secrets-'))
    try {
      for (const workload of workloadsOf(buildOverlay(name))) {
        const given = variablesOf(workload, secrets, folder)
        const { args } = containerOf(workload)
        // The production overlay leaves this to the operator.
        const is_undecided = given['MULTIHUB_TRUSTED_PROXIES'] === ''
        expect(is_undecided).toBe(name === 'production' && args.includes('gateway'))
        const variables = is_undecided ? { ...given, MULTIHUB_TRUSTED_PROXIES: 'none' } : given
        if (is_undecided)
          await expect(readContainerSettings(args, given)).rejects.toThrow(
            'MULTIHUB_TRUSTED_PROXIES is missing',
          )
        const uri = await readContainerSettings(args, variables)
        // Each role, and each command but those of `migrate`, has a user of its own.
        expect(uri?.replace(/multihub_[a-z]+:[0-9a-f]{64}@/, '')).toBe(
          name === 'development' ? undefined : SERVERS.MONGODB_URI,
        )
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test.each(['development', 'production'])(
    'a pod of %s has no secret that its settings do not name',
    (name) => {
      for (const workload of workloadsOf(buildOverlay(name))) {
        const { env, args } = containerOf(workload)
        const in_settings = env
          .filter(({ name }) => name.endsWith('_FILE') || name.startsWith('MULTIHUB_TLS_'))
          .map(({ value }) => value)
        const in_words = args.filter((word) => word.startsWith('/secrets/'))
        expect([...secretFilesOf(workload).keys()].sort()).toEqual([...in_settings, ...in_words].sort())
      }
    },
  )

  test('each role has its own token of RPCs, certificate, keys of its purposes alone, and its own user of the database and of NATS', () => {
    for (const workload of withoutCommands(buildOverlay('production'))) {
      const [role] = containerOf(workload).args
      const personal = [...secretFilesOf(workload).values()].filter((name) => !name.startsWith('multihub/'))
      // The sandbox calls no other role, and the job calls none at all.
      const has_token = role !== 'sandbox' && role !== 'migrate'
      const uses_bus = role !== 'migrate' && !ROLES_WITHOUT_BUS.some((name) => name === role)
      expect(personal.sort()).toEqual(
        [
          `multihub-mongodb/${role}`,
          ...(has_token ? [`multihub-keys/${role}`, `multihub-rpc/${role}`] : []),
          ...(uses_bus ? [`multihub-nats/${role}`] : []),
          ...(role === 'migrate'
            ? []
            : ['ca.crt', 'tls.crt', 'tls.key'].map((key) => `multihub-tls-${role}/${key}`)),
        ].toSorted(),
      )
    }
  })

  // O9
  test('no serving pod of production has a master key, and a role has the keys of its purposes and no other', () => {
    for (const workload of serversOf(buildOverlay('production'))) {
      const name = containerOf(workload).args[0] as RoleName
      expect(JSON.stringify(workload)).not.toContain('master')
      const purposes =
        secrets
          .get(`multihub-keys/${name}`)
          ?.split(',')
          .map((key) => key.split('.')[0]) ?? []
      expect(purposes).toEqual(KEY_PURPOSES[name])
    }
    // Neither can open a secret.
    expect([KEY_PURPOSES.balances, KEY_PURPOSES.sandbox]).toEqual([['journal'], []])
  })

  test('production runs every role, each in pods of its own', () => {
    const roles = withoutCommands(buildOverlay('production')).map((workload) => containerOf(workload).args)
    expect(roles.flat().sort()).toEqual([...ROLES, 'migrate'].sort())
  })

  test('no command of the operator runs until a job is made from it', () => {
    const manifests = buildOverlay('production')
    const commands = commandsOf(manifests)
    const names = commands.map(({ metadata }) => metadata.name)
    expect(names.sort()).toEqual(['backup', 'doctor', 'reseal', 'restore', 'verify'])
    for (const command of commands) {
      expect(command.spec).toMatchObject({ backoffLimit: 0 })
      expect(containerOf(command).args[0]).toBe(command.metadata.name)
    }
    for (const { kind, spec } of manifests) if (kind === 'CronJob') expect(spec.suspend).toBe(true)
  })

  // Its user can only read: make-secrets.test.ts.
  test('the backup has a user of the database of its own, and the other commands have the one of migrate', () => {
    const users = commandsOf(buildOverlay('production')).map((command) => [
      command.metadata.name,
      [...secretFilesOf(command).values()].filter((secret) => secret.startsWith('multihub-mongodb/')),
    ])
    const migrate = ['multihub-mongodb/migrate']
    expect(Object.fromEntries(users)).toEqual({
      backup: ['multihub-mongodb/backup'],
      ...{ doctor: migrate, reseal: migrate, restore: migrate, verify: migrate },
    })
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
      for (const [name, key] of [
        ['OTEL_EXPORTER_OTLP_ENDPOINT', 'endpoint'],
        ['MULTIHUB_TRACE_RATIO', 'ratio'],
      ])
        expect(env).toContainEqual({
          name,
          valueFrom: { configMapKeyRef: { name: 'multihub-traces', key, optional: true } },
        })
    }
    const policy = manifests.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'traces',
    )
    expect(policy?.spec).toMatchObject({ policyTypes: ['Egress'], egress: [{ ports: [{ port: 4318 }] }] })
  })
})

/** The workloads that the overlay starts by itself. */
function withoutCommands(manifests: readonly Manifest[]): readonly Manifest[] {
  return workloadsOf(manifests.filter(({ kind }) => kind !== 'CronJob'))
}

/** The secrets that the script makes, by `name/key`. */
function readSecrets(): ReadonlyMap<string, string> {
  const entries = makeSecretManifests({ ...process.env, ...SERVERS }).flatMap((manifest) => {
    const { metadata, stringData } = manifest as Manifest & { readonly stringData: Labels }
    return Object.entries(stringData).map(([key, value]): [string, string] => [
      `${metadata.name}/${key}`,
      value,
    ])
  })
  return new Map(entries)
}

/** The variables of a container as the cluster makes them, with its files of secrets in a folder. */
function variablesOf(
  workload: Manifest,
  secrets: ReadonlyMap<string, string>,
  folder: string,
): Readonly<Record<string, string>> {
  const variables: Record<string, string> = { KUBERNETES_SERVICE_HOST: '10.0.0.1', MULTIHUB_HOST: '0.0.0.0' }
  const files = secretFilesOf(workload)
  for (const { name, value = '', valueFrom } of containerOf(workload).env) {
    const { secretKeyRef, fieldRef, configMapKeyRef } = valueFrom ?? {}
    const text =
      secretKeyRef !== undefined
        ? secrets.get(`${secretKeyRef.name}/${secretKeyRef.key}`)
        : (fieldRef?.fieldPath ??
          (configMapKeyRef?.optional === false ? configMapKeyRef.key : undefined) ??
          value.replaceAll(/\$\((\w+)\)/g, (_, other) => variables[other] ?? `undefined ${other}`))
    if (text === undefined || text.includes('undefined')) throw new Error(`${name} has no value`)
    variables[name] = name.endsWith('_FILE') ? writeSecret(files.get(text), secrets, folder) : text
  }
  return variables
}

/** Writes a secret, which has a name such as `multihub/sandbox-key`, into a folder and returns its file. */
function writeSecret(name: string | undefined, secrets: ReadonlyMap<string, string>, folder: string): string {
  const value = secrets.get(name ?? '')
  if (name === undefined || value === undefined) throw new Error(`the secret ${name} is not there`)
  const file = join(folder, name.replace('/', '-'))
  writeFileSync(file, value)
  return file
}

/** The secrets in the files of a container, as `name/key` by the path of the file. A volume without items has all keys. */
function secretFilesOf(workload: Manifest): ReadonlyMap<string, string> {
  const { volumes } = workload.spec.template.spec
  return new Map(
    containerOf(workload).volumeMounts.flatMap(({ name, mountPath }) => {
      const secret = volumes.find((volume) => volume.name === name)?.secret
      if (secret === undefined) return []
      const items = secret.items ?? [{ key: '*', path: '*' }]
      return items.map(({ key, path }): [string, string] => [
        `${mountPath}/${path}`,
        `${secret.secretName}/${key}`,
      ])
    }),
  )
}
