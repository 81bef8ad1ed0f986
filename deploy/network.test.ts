import { readdirSync, readFileSync } from 'node:fs'
import { BlockList, isIPv6 } from 'node:net'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { CALLBACK_PORTS_REFUSED, checkCallbackUrl } from '#lib/http/callback-url.ts'
import { ROLES_WITHOUT_BUS } from '#lib/role/role.ts'
import { roleOf } from '#lib/rpc/service.ts'
import { OPERATOR_RPCS } from '../services/backoffice/domain/operator-rpcs.ts'
import {
  buildOverlay,
  containerOf,
  describeManifests,
  type Labels,
  type Manifest,
  startersOf,
} from './manifests.fixture.ts'

type Direction = 'ingress' | 'egress'

/** The parts of a NetworkPolicy that the tests read. */
interface PolicySpec extends Readonly<Record<Direction, readonly Rule[] | undefined>> {
  readonly podSelector: Selector
  readonly policyTypes: readonly string[]
}

interface Rule {
  readonly from?: readonly Peer[]
  readonly to?: readonly Peer[]
  readonly ports?: readonly { readonly protocol: string; readonly port: number; readonly endPort?: number }[]
}

interface Peer {
  readonly podSelector?: Selector
  readonly namespaceSelector?: Selector
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}

interface Selector {
  readonly matchLabels?: Labels
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values: readonly string[]
  }[]
}

/** The other end of a connection: a pod of the same namespace, a pod of another one, or an address outside. */
type End = { readonly pod: Labels } | { readonly namespace: Labels } | { readonly address: string }

const PRIVATE = [
  '10.1.2.3',
  '100.64.1.1',
  '127.0.0.1',
  '168.63.129.16',
  '169.254.169.254',
  '172.31.0.1',
  '192.0.0.192',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '240.0.0.1',
  '::1',
  'fd00::1',
  'fe80::1',
]
const PUBLIC = ['203.0.113.1', '2606:4700::1']
/** What every pod calls in other namespaces: names, the database, the bus, and collectors of traces. */
const SERVER_PORTS: readonly [namespace: Labels, protocol: string, port: number][] = [
  [{ 'kubernetes.io/metadata.name': 'kube-system' }, 'UDP', 53],
  [{ 'kubernetes.io/metadata.name': 'kube-system' }, 'TCP', 53],
  [{ 'multihub.dev/stores': 'true' }, 'TCP', 27_017],
  [{ 'multihub.dev/stores': 'true' }, 'TCP', 4222],
  [{ 'multihub.dev/collects': 'true' }, 'TCP', 4318],
]

describeManifests('the network of production', () => {
  const manifests = buildOverlay('production')
  const policies = manifests
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map(({ spec }) => spec as unknown as PolicySpec)
  const pods = startersOf(manifests)
  const admits = (pod: Labels, direction: Direction, end: End, port: number, protocol = 'TCP'): boolean =>
    policies
      .filter((policy) => appliesTo(policy, pod, direction))
      .some((policy) => policy[direction]?.some((rule) => opens(rule, end, port, protocol)))
  const reachedFrom = (namespace: Labels): readonly string[] =>
    pods.flatMap((pod) =>
      portsOf(pod)
        .filter((port) => admits(labelsOf(pod), 'ingress', { namespace }, port))
        .map((port) => `${pod.metadata.name}:${port}`),
    )

  test.each(pods.map((pod): [string, Manifest] => [pod.metadata.name, pod]))('%s is closed', (_, pod) => {
    const closing = policies.filter(
      (policy) =>
        (policy.ingress ?? policy.egress) === undefined &&
        appliesTo(policy, labelsOf(pod), 'ingress') &&
        appliesTo(policy, labelsOf(pod), 'egress'),
    )
    // The scanner has one policy, which closes it and opens what it needs.
    if (pod.metadata.name !== 'clamav') expect(closing).toHaveLength(1)
    for (const direction of ['ingress', 'egress'] as const)
      expect(policies.some((policy) => appliesTo(policy, labelsOf(pod), direction))).toBe(true)
  })

  test('pods make exactly the calls that the code makes, and each of them is open at both ends', () => {
    const calls = (
      admitsCall: (caller: Labels, callee: Labels, port: number) => boolean,
    ): readonly string[] =>
      pods.flatMap((caller) =>
        pods.flatMap((callee) =>
          portsOf(callee)
            .filter((port) => admitsCall(labelsOf(caller), labelsOf(callee), port))
            .map((port) => `${caller.metadata.name} -> ${callee.metadata.name}:${port}`),
        ),
      )
    const expected = [
      ...new Set([...callsInCode().map((call) => `${call}:9090`), ...callsOfBackoffice()]),
      // Balances processes call each other by their own addresses.
      'balances -> balances:9090',
      'backoffice -> attachments:9095',
      'gateway -> attachments:9095',
      'payments -> sandbox:9092',
      'sandbox -> payments:9093',
      'attachments -> clamav:3310',
    ].sort()
    const leaving = calls((caller, pod, port) => admits(caller, 'egress', { pod }, port))
    const arriving = calls((pod, callee, port) => admits(callee, 'ingress', { pod }, port))
    expect(leaving.toSorted()).toEqual(expected)
    expect(arriving.toSorted()).toEqual(expected)
  })

  test('a policy opens a port at pods that have it, and at no other', () => {
    const withoutPort = (selector: Selector, rule: Rule) =>
      pods
        .filter((pod) => matches(selector, labelsOf(pod)))
        .flatMap((pod) =>
          (rule.ports ?? [])
            // Every process has the health port, and the jobs end before a scrape matters.
            .filter(({ port }) => port !== 9094 && !portsOf(pod).includes(port))
            .map(({ port }) => `${pod.metadata.name}:${port}`),
        )
    const arriving = policies.flatMap(({ podSelector, ingress = [] }) =>
      ingress.flatMap((rule) => withoutPort(podSelector, rule)),
    )
    const leaving = policies.flatMap(({ egress = [] }) =>
      egress.flatMap((rule) =>
        (rule.to ?? []).flatMap(({ podSelector }) => (podSelector ? withoutPort(podSelector, rule) : [])),
      ),
    )
    expect([...arriving, ...leaving]).toEqual([])
  })

  test('the sandbox sends its callbacks to a name of the namespace, which leads to payments', () => {
    const payments = pods.find(({ metadata }) => metadata.name === 'payments')
    const { env = [] } = (payments && containerOf(payments)) ?? {}
    const url = env.find(({ name }) => name === 'MULTIHUB_SANDBOX_CALLBACK_URL')?.value
    const [, name] = /^http:\/\/([a-z-]+)\.\$\(POD_NAMESPACE\)\.svc\.cluster\.local$/.exec(url ?? '') ?? []
    const service = manifests.find(({ kind, metadata }) => kind === 'Service' && metadata.name === name)
    expect(service?.spec).toMatchObject({
      selector: { 'app.kubernetes.io/name': 'payments' },
      ports: [{ port: 80, targetPort: 'callbacks' }],
    })
  })

  test('other namespaces reach what their label names', () => {
    const health = pods
      .filter((pod) => portsOf(pod).includes(9094))
      .map(({ metadata }) => `${metadata.name}:9094`)
    expect(health).toHaveLength(9)
    expect(reachedFrom({ 'multihub.dev/operates': 'true' })).toEqual(['backoffice:9096'])
    expect(reachedFrom({ 'multihub.dev/forwards': 'true' }).toSorted()).toEqual([
      'gateway:8080',
      'payments:9093',
    ])
    expect(reachedFrom({ 'multihub.dev/scrapes': 'true' })).toEqual(health)
    expect(reachedFrom({ 'multihub.dev/collects': 'true' })).toEqual([])
    expect(reachedFrom({ 'kubernetes.io/metadata.name': 'kube-system' })).toEqual([])
  })

  test('the internet is open to payments and the notifier only, and private addresses to no pod', () => {
    const open = (address: string, port: number) =>
      pods
        .filter((pod) => admits(labelsOf(pod), 'egress', { address }, port))
        .map(({ metadata }) => metadata.name)
    for (const address of PUBLIC) expect(open(address, 8443)).toEqual(['notifier', 'payments'])
    for (const address of PRIVATE) expect([address, open(address, 8443)]).toEqual([address, []])
    // The scanner fetches its signatures.
    for (const address of PUBLIC) expect(open(address, 443)).toEqual(['notifier', 'payments', 'clamav'])
    for (const address of PRIVATE) expect([address, open(address, 443)]).toEqual([address, []])
  })

  test('payments and the notifier call the ports that a callback may have, and no other', () => {
    const labels = pods
      .map(labelsOf)
      .filter((pod) => /payments|notifier/.test(pod['app.kubernetes.io/name'] ?? ''))
    const refused = [...CALLBACK_PORTS_REFUSED]
    const around = refused.flatMap((port) => [port - 1, port, port + 1])
    for (const port of [1, 22, 25, 79, 80, 81, 442, 443, 444, 1023, 1024, 8443, 65_535, ...around]) {
      const is_permitted = checkCallbackUrl(`http://203.0.113.1:${port}/`, {
        environment: 'test',
        allow: () => true,
      }).ok
      for (const pod of labels)
        expect([port, admits(pod, 'egress', { address: '203.0.113.1' }, port)]).toEqual([port, is_permitted])
    }
    expect(labels).toHaveLength(2)
  })

  test('the database and the bus are at the addresses of the overlay, and at no other', () => {
    for (const port of [27_017, 4222]) {
      const open = (address: string) =>
        pods.filter((pod) => admits(labelsOf(pod), 'egress', { address }, port))
      expect(open('192.0.2.10')).toEqual(pods.filter(isClientOf(port)))
      for (const address of PRIVATE) expect([address, open(address)]).toEqual([address, []])
    }
  })

  test('every pod of Multihub reaches names, the database, collectors of traces and the bus, if its role uses it', () => {
    for (const [namespace, protocol, port] of SERVER_PORTS) {
      // The scanner finds the mirrors of its signatures by their names.
      const calling = port === 53 ? pods : pods.filter(isClientOf(port))
      expect(pods.filter((pod) => admits(labelsOf(pod), 'egress', { namespace }, port, protocol))).toEqual(
        calling,
      )
      const other = { 'kubernetes.io/metadata.name': 'other' }
      const open = pods.filter((pod) => admits(labelsOf(pod), 'egress', { namespace: other }, port, protocol))
      expect(open).toEqual([])
    }
  })
})

/** Makes a predicate: whether a pod uses the servers of a port. The scanner uses none, and not every role uses the bus (O10). */
function isClientOf(port: number): (pod: Manifest) => boolean {
  return ({ metadata: { name } }) =>
    name !== 'clamav' && !(port === 4222 && ROLES_WITHOUT_BUS.some((role) => role === name))
}

function labelsOf({ spec }: Manifest): Labels {
  return spec.template.metadata.labels
}

function portsOf(pod: Manifest): readonly number[] {
  return (containerOf(pod).ports ?? []).map(({ containerPort }) => containerPort)
}

function appliesTo({ podSelector, policyTypes }: PolicySpec, pod: Labels, direction: Direction): boolean {
  return policyTypes.some((type) => type.toLowerCase() === direction) && matches(podSelector, pod)
}

/** Whether a rule admits connections with this end. A rule without ports or without peers means all of them. */
function opens({ from, to, ports }: Rule, end: End, port: number, protocol: string): boolean {
  const peers = from ?? to
  return (
    (ports === undefined || ports.some((opened) => isIn(opened, port) && opened.protocol === protocol)) &&
    (peers === undefined || peers.some((peer) => includes(peer, end)))
  )
}

function isIn({ port: first, endPort = first }: { port: number; endPort?: number }, port: number): boolean {
  return first <= port && port <= endPort
}

function includes({ podSelector, namespaceSelector, ipBlock }: Peer, end: End): boolean {
  if ('pod' in end)
    return namespaceSelector === undefined && podSelector !== undefined && matches(podSelector, end.pod)
  if ('namespace' in end)
    return (
      podSelector === undefined &&
      namespaceSelector !== undefined &&
      matches(namespaceSelector, end.namespace)
    )
  if (ipBlock === undefined) return false
  return contains([ipBlock.cidr], end.address) && !contains(ipBlock.except ?? [], end.address)
}

function contains(ranges: readonly string[], address: string): boolean {
  const list = new BlockList()
  for (const range of ranges) {
    const [first = '', bits] = range.split('/')
    list.addSubnet(first, Number(bits), isIPv6(first) ? 'ipv6' : 'ipv4')
  }
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

function matches({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([label, value]) => labels[label] === value) &&
    matchExpressions.every(
      ({ key, operator, values }) => values.includes(labels[key] ?? '') === (operator === 'In'),
    )
  )
}

/** The back office calls the owners of its table. */
function callsOfBackoffice(): readonly string[] {
  const owners = new Set(OPERATOR_RPCS.map(({ method }) => roleOf(method.parent)))
  owners.delete('backoffice')
  return [...owners].map((role) => `backoffice -> ${role}:9090`)
}

/** The calls between roles, as `caller -> callee`, found by the clients and publishers that the code of each role makes. */
function callsInCode(): readonly string[] {
  const folders = [...readdirSync('services').map((role) => join('services', role)), 'gateway']
  const calls = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(file))
      .flatMap((file) => {
        const source = readFileSync(join(folder, file), 'utf8')
        const publishes = source.includes('openPublisher(') ? [`${folder.split('/').at(-1)} -> notifier`] : []
        const calls = [...source.matchAll(/(?:clientOf\(|\bservice: )([A-Z]\w*Service)\b/g)].map(
          ([, service]) => {
            const imported = new RegExp(`\\b${service}\\b[^;]*?#gen/multihub/(\\w+)/v1`, 's').exec(source)
            return `${folder.split('/').at(-1)} -> ${imported?.[1]}`
          },
        )
        return [...calls, ...publishes]
      }),
  )
  return [...new Set(calls)]
}
