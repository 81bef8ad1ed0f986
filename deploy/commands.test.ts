import { expect, test } from '@jest/globals'
import {
  buildOverlay,
  commandsOf,
  containerOf,
  describeManifests,
  type Manifest,
  NAME_LABEL,
  workloadsOf,
} from './manifests.fixture.ts'

const MASTER = ['MONGODB_URI_FILE', 'MULTIHUB_ACTIVE_KEY', 'MULTIHUB_MASTER_KEYS_FILE']
const DERIVED = ['MONGODB_URI_FILE', 'MULTIHUB_ACTIVE_KEY', 'MULTIHUB_KEYS_FILE']

/** The commands of the operator: their arguments, and the settings that they read. */
const COMMANDS: Readonly<Record<string, readonly [args: readonly string[], settings: readonly string[]]>> = {
  backup: [['backup', '--recipient', '$(RECIPIENT)', '--prune', '/backups/$(POD_NAME)'], DERIVED],
  doctor: [
    ['doctor', 'all'],
    [
      'MONGODB_URI_FILE',
      'MULTIHUB_ACTIVE_KEY',
      'MULTIHUB_MASTER_KEYS_FILE',
      'MULTIHUB_RPC_CALLERS',
      'MULTIHUB_SANDBOX_KEY_FILE',
      'NATS_URL_FILE',
    ],
  ],
  reseal: [['reseal', '--to', '$(KEY_ID)'], MASTER],
  restore: [
    [
      'restore',
      '--erasures',
      '$(ERASURES)',
      '--identity',
      '/secrets/identity/identity',
      '--verify',
      '/backups/$(BACKUP)',
    ],
    MASTER,
  ],
  verify: [['verify'], DERIVED],
}
/** What fills the arguments: the pod's own name is new for each run, and nobody backs up or restores without a decision. */
const ARGUMENTS = {
  RECIPIENT: { configMapKeyRef: { name: 'multihub-backup', key: 'recipient', optional: false } },
  POD_NAME: { fieldRef: { fieldPath: 'metadata.name' } },
  KEY_ID: { configMapKeyRef: { name: 'multihub-reseal', key: 'to', optional: false } },
  BACKUP: { configMapKeyRef: { name: 'multihub-restore', key: 'backup', optional: false } },
  ERASURES: { configMapKeyRef: { name: 'multihub-restore', key: 'erasures', optional: false } },
}

describeManifests('the commands of production', () => {
  const commands = commandsOf(buildOverlay('production'))
  const named = (names?: readonly string[]) =>
    commands
      .filter(({ metadata }) => names === undefined || names.includes(metadata.name))
      .map((command): [string, Manifest] => [command.metadata.name, command])

  test.each(named())('%s has its arguments, its settings, and what its arguments name', (name, command) => {
    const [args, settings] = COMMANDS[name] ?? []
    const { env, ...container } = containerOf(command)
    expect(container.args).toEqual(args)
    const variables = args?.flatMap((word) =>
      [...word.matchAll(/\$\((\w+)\)/g)].map(([, variable]) => variable),
    )
    const filled = env.filter((variable) => variables?.includes(variable.name))
    expect(filled).toEqual(
      Object.entries(ARGUMENTS)
        .filter(([variable]) => variables?.includes(variable))
        .map(([variable, valueFrom]) => ({ name: variable, valueFrom })),
    )
    const others = env.filter((variable) => !filled.includes(variable)).map((variable) => variable.name)
    expect(others.sort()).toEqual(settings)
  })

  test.each(named())('%s has the labels by which the policies and the operator find it', (name, { spec }) => {
    expect(spec.template.metadata.labels).toEqual({
      [NAME_LABEL]: name,
      'app.kubernetes.io/part-of': 'multihub',
    })
  })

  test('a command with a schedule ends before it is due again', () => {
    const daily = buildOverlay('production')
      .filter(({ kind, metadata }) => kind === 'CronJob' && ['backup', 'verify'].includes(metadata.name))
      .map(({ spec }) => spec as typeof spec & { readonly schedule: string })
    expect(daily).toHaveLength(2)
    for (const { schedule, jobTemplate } of daily) {
      const job = jobTemplate?.spec as { readonly activeDeadlineSeconds?: number } | undefined
      expect(schedule).toMatch(/^0 \d+ \* \* \*$/)
      expect(job?.activeDeadlineSeconds).toBeLessThan(86_400)
    }
  })

  // O23.5
  test('the overlays decide where backups are kept, and the doctor reads the decision of the back office', () => {
    const settings = buildOverlay('production').find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('multihub-settings-'),
    )
    expect(settings).toMatchObject({ data: { MULTIHUB_BACKUPS: 'claim' } })
    const envFrom = [{ configMapRef: { name: settings?.metadata.name, optional: true } }]
    for (const [, command] of named(['doctor'])) expect(containerOf(command)).toMatchObject({ envFrom })
    const [pod] = workloadsOf(buildOverlay('development'))
    expect(pod && containerOf(pod).env).toContainEqual({ name: 'MULTIHUB_BACKUPS', value: 'elsewhere' })
  })

  test('the identity of encrypted backups is mounted by restore alone, and only while it is there', () => {
    const name = 'multihub-backup-identity'
    const having = commands.filter((command) => JSON.stringify(command).includes(name))
    expect(having.map(({ metadata }) => metadata.name)).toEqual(['restore'])
    const items = [{ key: 'identity', path: 'identity' }]
    const secret = { secretName: name, defaultMode: 0o440, optional: true, items }
    expect(having[0]?.spec.template.spec.volumes).toContainEqual({ name: 'identity', secret })
  })

  test.each(named(['backup', 'restore']))('%s has the volume of backups', (name, command) => {
    expect(command.spec.template.spec.volumes).toContainEqual({
      name: 'backups',
      persistentVolumeClaim: { claimName: 'multihub-backups' },
    })
    // A restore changes no backup.
    const only_read = name === 'restore' ? { readOnly: true } : undefined
    expect(containerOf(command).volumeMounts).toContainEqual({
      name: 'backups',
      mountPath: '/backups',
      ...only_read,
    })
  })
})
