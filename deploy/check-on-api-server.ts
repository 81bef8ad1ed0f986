import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseAllDocuments } from 'yaml'
import { freePort } from '../test/support/free-port.ts'
import { endingWithParent, findProgram, SERVERS_FOLDER } from '../test/support/programs.ts'
import { makeSecretManifests } from './secrets.fixture.ts'
import { readDefinitions, VARIANTS, withVariant } from './variants.fixture.ts'

/**
 * `node scripts/run.mjs --dev deploy/check-on-api-server.ts`: starts a Kubernetes API server and applies each overlay to it,
 * with strict validation: an unknown or misplaced field is an error. Then it lets the server admit a pod of each workload
 * under the pod security standard of its namespace. `scripts/servers/install kubernetes` builds what it needs.
 */
interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: {
    readonly template?: PodTemplate
    readonly jobTemplate?: { readonly spec: { readonly template: PodTemplate } }
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
  }
}

interface PodTemplate {
  readonly metadata: object
  readonly spec: { readonly volumes?: readonly object[] }
}

interface Answer {
  readonly status: number
  readonly warnings: readonly string[]
  readonly text: string
}

const TOKEN = 'check'
const READY_TRIES = 240
const RESOURCES: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  Ingress: 'ingresses',
  PriorityClass: 'priorityclasses',
}
const CLUSTER_KINDS = ['Namespace', 'PriorityClass']

const folder = mkdtempSync(join(tmpdir(), 'multihub-kubernetes-'))
const port = await freePort()
let problems = 0
try {
  await startServers()
  for (const overlay of ['development', 'production'])
    await check(overlay, build(resolve(import.meta.dirname, 'overlays', overlay)))
  await define()
  for (const [name, components] of Object.entries(VARIANTS))
    await check(`production ${name}`, withVariant(components, '', build))
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
process.stdout.write(problems === 0 ? 'nothing is wrong\n' : `${problems} objects were refused\n`)
process.exit(problems === 0 ? 0 : 1)

function program(name: string): string {
  const path = findProgram(name, [join(SERVERS_FOLDER, 'bin')])
  if (path !== undefined) return path
  process.stderr.write(`${name} is missing: run "scripts/servers/install kubernetes"\n`)
  process.exit(1)
}

async function startServers(): Promise<void> {
  const [client, peer] = [await freePort(), await freePort()]
  const etcd = `http://127.0.0.1:${client}`
  const peers = `http://127.0.0.1:${peer}`
  start('etcd', [
    ...['--data-dir', join(folder, 'etcd'), '--listen-client-urls', etcd, '--advertise-client-urls', etcd],
    ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers],
    ...['--initial-cluster', `default=${peers}`],
  ])
  const key = join(folder, 'service-accounts.key')
  execFileSync('openssl', ['genrsa', '-out', key, '2048'], { stdio: 'ignore' })
  writeFileSync(join(folder, 'tokens.csv'), `${TOKEN},check,check,"system:masters"\n`)
  start('kube-apiserver', [
    ...[`--etcd-servers=${etcd}`, '--bind-address=127.0.0.1', `--secure-port=${port}`],
    ...[`--cert-dir=${join(folder, 'certificates')}`, `--token-auth-file=${join(folder, 'tokens.csv')}`],
    ...['--service-account-issuer=https://kubernetes.default.svc', `--service-account-key-file=${key}`],
    ...[`--service-account-signing-key-file=${key}`, '--service-cluster-ip-range=10.96.0.0/16'],
  ])
  for (let tries = 1; !(await isReady()); tries += 1) {
    if (tries === READY_TRIES) throw new Error('the API server did not become ready within two minutes')
    await sleep(500)
  }
}

function start(name: string, parameters: readonly string[]): void {
  const [command, ...words] = endingWithParent(program(name), parameters)
  const child = spawn(command, words, { stdio: 'ignore' })
  process.once('exit', () => child.kill('SIGKILL'))
}

async function isReady(): Promise<boolean> {
  if (!existsSync(join(folder, 'certificates/apiserver.crt'))) return false
  return await call('GET', '/readyz').then(
    ({ status }) => status === 200,
    () => false,
  )
}

function build(folder: string): readonly Manifest[] {
  const built = execFileSync(program('kustomize'), ['build', folder])
  return parseAllDocuments(built.toString()).map((document) => document.toJS() as Manifest)
}

/** Lets the server know the kinds of other operators, and waits until it serves them. */
async function define(): Promise<void> {
  for (const definition of readDefinitions()) {
    const { group, names, versions } = definition.spec
    const kinds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const path = `${kinds}/${definition.metadata.name}?fieldManager=check&fieldValidation=Strict`
    await report('definitions', definition.metadata.name, call('PATCH', path, definition))
    const served = `/apis/${group}/${versions[0]?.name}/${names.plural}`
    for (let tries = 1; (await call('GET', served)).status !== 200 && tries < READY_TRIES; tries += 1)
      await sleep(100)
  }
}

async function check(overlay: string, manifests: readonly Manifest[]): Promise<void> {
  const namespace = manifests.find(({ kind }) => kind === 'Namespace')?.metadata.name ?? ''
  const env = { ...process.env, MONGODB_URI: 'mongodb://db', NATS_URL: 'nats://bus' }
  const secrets = makeSecretManifests(env) as readonly Manifest[]
  const namespaces = manifests.filter(({ kind }) => kind === 'Namespace')
  // A controller makes it in a whole cluster.
  const account: Manifest = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } }
  const others = manifests.filter(({ kind }) => kind !== 'Namespace')
  for (const manifest of [...namespaces, account, ...secrets, ...others])
    await apply(overlay, namespace, manifest)
  for (const manifest of others)
    if (templateOf(manifest) !== undefined)
      await report(overlay, `a pod of ${manifest.metadata.name}`, createPod(namespace, manifest))
}

function templateOf({ spec }: Manifest): PodTemplate | undefined {
  return spec?.template ?? spec?.jobTemplate?.spec.template
}

function apply(overlay: string, namespace: string, manifest: Manifest): Promise<void> {
  const { apiVersion, kind, metadata } = manifest
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const scope = CLUSTER_KINDS.includes(kind) ? '' : `/namespaces/${namespace}`
  const resource = RESOURCES[kind] ?? `${kind.toLowerCase()}s`
  const path = `${group}${scope}/${resource}/${metadata.name}?fieldManager=check&fieldValidation=Strict`
  return report(overlay, `${kind} ${metadata.name}`, call('PATCH', path, manifest))
}

/** The server decides about the pod and then forgets it. A controller would add the volumes that are claimed by template. */
function createPod(namespace: string, manifest: Manifest): Promise<Answer> {
  const { name } = manifest.metadata
  const { metadata, spec: pod } = templateOf(manifest) ?? { metadata: {}, spec: {} }
  const claimed = (manifest.spec?.volumeClaimTemplates ?? []).map((claim) => ({
    name: claim.metadata.name,
    emptyDir: {},
  }))
  return call('POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All&fieldValidation=Strict`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name },
    spec: { ...pod, volumes: [...(pod.volumes ?? []), ...claimed] },
  })
}

async function report(overlay: string, subject: string, answer: Promise<Answer>): Promise<void> {
  const { status, warnings, text } = await answer
  const is_right = status >= 200 && status < 300 && warnings.length === 0
  if (!is_right) problems += 1
  const reason = is_right ? '' : `: ${status} ${warnings.join('; ')} ${text}`
  process.stdout.write(`${is_right ? 'ok     ' : 'REFUSED'} ${overlay}: ${subject}${reason}\n`)
}

function call(method: string, path: string, body?: object): Promise<Answer> {
  const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json'
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': type }
  const ca = readFileSync(join(folder, 'certificates/apiserver.crt'))
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers, ca }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        const warnings = [response.headers['warning'] ?? []].flat()
        resolve({ status: response.statusCode ?? 0, warnings, text })
      })
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
