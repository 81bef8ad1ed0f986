import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { expect, test } from '@jest/globals'
import { buildFolder, buildOverlay, containerOf, describeManifests, serversOf } from './manifests.fixture.ts'
import { makeSecretManifests } from './secrets.fixture.ts'

/** The parts of a secret that the tests read. */
interface Secret {
  readonly metadata: { readonly name: string }
  readonly stringData: object
}

const PRODUCTION = resolve(import.meta.dirname, 'overlays/production')
const page = readFileSync(resolve(import.meta.dirname, '../docs/operators/kubernetes.md'), 'utf8')
const blocksOf = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, block]) => block ?? '')
const commands = blocksOf('sh').join('\n')
const wordsOf = (pattern: RegExp, text = commands): readonly (string | undefined)[] =>
  [...text.matchAll(pattern)].map(([, word]) => word)
/** The commands of all pages for operators, with those that a text quotes. */
const everywhere = [
  'deploy/README.md',
  ...readdirSync('docs/operators', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs/operators', name)),
]
  .map((name) => readFileSync(name, 'utf8'))
  .join('\n')

describeManifests('the page "In Kubernetes"', () => {
  test('is made of commands that a shell understands', () => {
    expect(commands.length).toBeGreaterThan(0)
    execFileSync('bash', ['-n'], { input: commands })
  })

  test('names objects of the overlays, as the other pages for operators do', () => {
    const objects = buildOverlay('production')
    const known = [...objects, ...buildOverlay('development')].map(
      ({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`,
    )
    const named = wordsOf(/\b((?:deployment|statefulset|cronjob|job)\/[a-z]+)\b/g, everywhere)
    expect(new Set(named).size).toBeGreaterThan(5)
    const services = wordsOf(/\bservices? `([a-z-]+)`/g, everywhere)
    expect(services.length).toBeGreaterThan(2)
    for (const name of services) expect(known).toContain(`service/${name}`)
    for (const name of named) expect(known).toContain(name)
    for (const name of wordsOf(/^\s*run (\w+) /gm)) expect(known).toContain(`cronjob/${name}`)
    const [migrate, ...others] = objects.filter(
      ({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] === 'migrate',
    )
    expect([migrate?.kind, others]).toEqual(['Job', []])
  })

  test('forwards ports that the pods have', () => {
    const pods = serversOf(buildOverlay('production'))
    const forwards = [...everywhere.matchAll(/port-forward -n multihub \w+\/(\w+) (?:\d+:)?(\d+)/g)]
    expect(forwards.length).toBeGreaterThan(1)
    for (const [, name, port] of forwards) {
      const pod = pods.find(({ metadata }) => metadata.name === name)
      const ports = (pod && containerOf(pod).ports)?.map(({ containerPort }) => `${containerPort}`)
      expect(ports).toContain(port)
    }
  })

  test('gives namespaces labels that the policies know, and none is left out', () => {
    const policies = JSON.stringify(buildOverlay('production').filter(({ kind }) => kind === 'NetworkPolicy'))
    const label = /multihub\.dev\/\w+/g
    const known = [...new Set(policies.match(label))].sort()
    expect([...new Set(everywhere.match(label))].sort()).toEqual(known)
  })

  test('applies the job that migrates, and waits for its end, before anything else starts', () => {
    const orders = ['## Install', '## Update and go back'].map((title) => {
      const [, block = ''] = /```sh\n(.*?)^```/ms.exec(page.slice(page.indexOf(title))) ?? []
      return block.split('\n').filter((line) => /kubectl (apply|wait|delete job)/.test(line))
    })
    const apply = 'kubectl apply -k $OVERLAY'
    const steps = [
      `${apply} -l app.kubernetes.io/name=migrate`,
      expect.stringMatching(/^kubectl wait .*--for=condition=complete job\/migrate/),
      apply,
    ]
    expect(orders).toEqual([steps, ['kubectl delete job -n multihub migrate --ignore-not-found', ...steps]])
  })

  test('names keys of the secrets', () => {
    const env = { ...process.env, MONGODB_URI: 'mongodb://db', NATS_URL: 'nats://bus' }
    const made = makeSecretManifests(env) as readonly Secret[]
    const read = [
      ...everywhere.matchAll(/get secret -n multihub ([\w-]+) -o jsonpath='\{\.data\.([\w-]+)\}'/g),
    ]
    expect(read.length).toBeGreaterThan(2)
    for (const [, name, key = ''] of read)
      expect(made.find(({ metadata }) => metadata.name === name)?.stringData).toHaveProperty([key])
  })

  test('has patches that fit the production overlay', () => {
    const folder = mkdtempSync(join(tmpdir(), 'multihub-overlay-'))
    try {
      const patches = blocksOf('yaml').find((block) => block.startsWith('patches:'))
      const resources = `resources: [${relative(folder, PRODUCTION)}]\n`
      writeFileSync(join(folder, 'kustomization.yaml'), resources + patches)
      const objects = buildFolder(folder)
      const specOf = (kind: string, name: string) =>
        objects.find((object) => object.kind === kind && object.metadata.name === name)?.spec
      expect(specOf('HorizontalPodAutoscaler', 'notifier')).toMatchObject({ minReplicas: 4 })
      expect(specOf('StatefulSet', 'balances')).toMatchObject({ replicas: 5 })
      expect(specOf('CronJob', 'backup')).toMatchObject({ suspend: false })
      expect(JSON.stringify(specOf('Deployment', 'attachments'))).not.toContain('clamd://clamav')
      expect(JSON.stringify(specOf('NetworkPolicy', 'attachments-to-clamav'))).toContain('scanners')
      expect(JSON.stringify(specOf('Deployment', 'payments'))).toContain('"secretName":"multihub-providers"')
      expect(JSON.stringify(specOf('Deployment', 'gateway'))).toContain('MULTIHUB_TRUSTED_PROXIES')
      const resolvers = [
        { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } },
        { ipBlock: { cidr: '169.254.20.10/32' } },
        { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'openshift-dns' } } },
      ]
      for (const name of ['names', 'clamav'])
        expect(specOf('NetworkPolicy', name)).toMatchObject({
          egress: expect.arrayContaining([
            {
              to: resolvers,
              ports: [53, 5353].flatMap((port) => ['UDP', 'TCP'].map((protocol) => ({ protocol, port }))),
            },
          ]),
        })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
