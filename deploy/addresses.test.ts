import { expect, test } from '@jest/globals'
import {
  buildOverlay,
  containerOf,
  describeManifests,
  type Labels,
  type Manifest,
  NAME_LABEL,
  startersOf,
} from './manifests.fixture.ts'

/** The services of production, with their ports and where those lead. A headless service has no ports of its own. */
const SERVICES: Readonly<Record<string, readonly (readonly [port: number, target: string | number])[]>> = {
  attachments: [
    [9090, 9090],
    [9091, 9091],
    [9095, 9095],
  ],
  balances: [
    [9090, 9090],
    [9091, 9091],
  ],
  backoffice: [[80, 'backoffice']],
  'balances-peers': [[9090, 9090]],
  clamav: [[3310, 3310]],
  gateway: [[80, 'http']],
  'gateway-calls': [[9090, 9090]],
  merchants: [
    [9090, 9090],
    [9091, 9091],
  ],
  notifier: [
    [9090, 9090],
    [9091, 9091],
  ],
  payments: [
    [9090, 9090],
    [9091, 9091],
  ],
  'provider-callbacks': [[80, 'callbacks']],
  sandbox: [[9092, 9092]],
  support: [
    [9090, 9090],
    [9091, 9091],
  ],
}

/** What pods call at an address other than that of a role: the setting, and the service with its port. */
const CALLS = [
  ['attachments', 'MULTIHUB_SCANNER', 'clamav', 3310],
  ['backoffice', 'MULTIHUB_ATTACHMENTS_URL', 'attachments', 9095],
  ['gateway', 'MULTIHUB_ATTACHMENTS_URL', 'attachments', 9095],
  ['payments', 'MULTIHUB_SANDBOX_CALLBACK_URL', 'provider-callbacks', 80],
  ['payments', 'MULTIHUB_SANDBOX_URL', 'sandbox', 9092],
  ['sandbox', 'MULTIHUB_SANDBOX_URL', 'sandbox', 9092],
] as const

describeManifests('production', () => {
  const manifests = buildOverlay('production')
  const pods = startersOf(manifests)
  const lasting = pods.filter(({ kind }) => kind !== 'Job')
  const ports = (service: Manifest) =>
    service.spec.ports?.map(({ port, targetPort }) => [port, targetPort ?? port])

  test('each service has its ports, and they are those of the pods that it selects', () => {
    const services = manifests.filter(({ kind }) => kind === 'Service')
    expect(Object.fromEntries(services.map((service) => [service.metadata.name, ports(service)]))).toEqual(
      SERVICES,
    )
    for (const service of services) {
      const selected = pods.filter((pod) => isSelected(service.spec.selector, pod))
      expect(selected).toHaveLength(1)
      const open = selected.flatMap((pod) => containerOf(pod).ports ?? [])
      for (const [, target] of ports(service) ?? [])
        expect(open.flatMap(({ name, containerPort }) => [name, containerPort])).toContain(target)
    }
  })

  test.each(CALLS)('%s finds by %s the service %s at port %d', (role, variable, service, port) => {
    const caller = pods.find(({ metadata }) => metadata.name === role)
    const value = caller && containerOf(caller).env.find(({ name }) => name === variable)?.value
    const { hostname, port: named } = new URL(value?.replace('$(POD_NAMESPACE)', 'multihub') ?? '')
    expect(hostname).toBe(`${service}.multihub.svc.cluster.local`)
    expect(Number(named || 80)).toBe(port)
  })

  test.each(lasting.map((each): [string, Manifest] => [each.metadata.name, each]))(
    '%s counts the pods that it starts as its own',
    (name, { kind, spec }) => {
      expect(spec.selector).toEqual({ matchLabels: { [NAME_LABEL]: name } })
      expect(spec.template.metadata.labels).toMatchObject({ [NAME_LABEL]: name })
      if (kind === 'StatefulSet') expect(Object.keys(SERVICES)).toContain(spec.serviceName)
    },
  )

  test('everything is in the namespace of the overlay', () => {
    const outside = manifests.filter(
      ({ kind, metadata }) => kind !== 'Namespace' && metadata.namespace !== 'multihub',
    )
    expect(outside.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([])
  })

  test.each([
    ['payments', 'MULTIHUB_PROVIDER_URL', 'https://providers.example.com'],
    ['gateway', 'MULTIHUB_PUBLIC_URL', 'https://api.example.com'],
  ])('only %s has %s, at which others reach it from outside', (role, name, value) => {
    const having = pods.filter((pod) => containerOf(pod).env?.some((variable) => variable.name === name))
    expect(having.map(({ metadata }) => metadata.name)).toEqual([role])
    expect(having.flatMap((pod) => containerOf(pod).env)).toContainEqual({ name, value })
  })
})

describeManifests('development', () => {
  const manifests = buildOverlay('development')

  test('has one service, which leads to the one pod, whose sandbox calls it, in a namespace of its own', () => {
    const [pod, ...others] = startersOf(manifests)
    expect(others).toEqual([])
    const labels = { [NAME_LABEL]: 'multihub', 'app.kubernetes.io/part-of': 'multihub' }
    expect(pod?.spec).toMatchObject({
      selector: { matchLabels: { [NAME_LABEL]: 'multihub' } },
      template: { metadata: { labels } },
    })
    expect(manifests.filter(({ kind }) => kind === 'Service')).toMatchObject([
      {
        spec: {
          selector: { [NAME_LABEL]: 'multihub' },
          ports: [{ port: 80, targetPort: 'http' }, { port: 9090 }, { port: 9091 }, { port: 9096 }],
        },
      },
    ])
    const provider_url = { name: 'MULTIHUB_PROVIDER_URL', value: 'http://127.0.0.1:9093' }
    expect(pod && containerOf(pod).env).toContainEqual(provider_url)
    const namespaces = manifests
      .filter(({ kind }) => kind !== 'Namespace')
      .map(({ metadata }) => metadata.namespace)
    expect(new Set(namespaces)).toEqual(new Set(['multihub-development']))
  })
})

function isSelected(selector: unknown, { spec }: Manifest): boolean {
  const labels = Object.entries(selector as Labels)
  return labels.every(([label, value]) => spec.template.metadata.labels[label] === value)
}
