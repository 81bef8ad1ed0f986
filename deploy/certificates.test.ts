import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { expect, test } from '@jest/globals'
import { ROLES } from '#lib/role/role.ts'
import {
  buildFolder,
  buildOverlay,
  containerOf,
  describeManifests,
  type Manifest,
  serversOf,
} from './manifests.fixture.ts'

const FILES = ['ca.crt', 'tls.crt', 'tls.key']

/** The parts of a certificate of cert-manager that the tests read. */
interface Certificate {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly secretName: string
    readonly isCA?: boolean
    readonly dnsNames?: readonly string[]
    readonly renewBefore?: string
    readonly issuerRef: { readonly name: string }
  }
}

describeManifests('TLS between the pods of production', () => {
  const servers = serversOf(buildOverlay('production'))

  test.each(servers.map((server): [string, Manifest] => [server.metadata.name, server]))(
    '%s has its own certificate, in files that change while it runs',
    (name, server) => {
      const { env, volumeMounts } = containerOf(server)
      const values = env
        .filter((variable) => variable.name.startsWith('MULTIHUB_TLS_'))
        .map(({ value }) => value)
      expect(values.sort()).toEqual(FILES.map((file) => `/secrets/tls/${file}`))
      // No subPath: such a file never changes.
      expect(volumeMounts).toContainEqual({ name: 'certificate', mountPath: '/secrets/tls', readOnly: true })
      const volume = server.spec.template.spec.volumes.find((each) => each.name === 'certificate')
      expect(volume?.secret).toMatchObject({ secretName: `multihub-tls-${name}`, defaultMode: 0o440 })
      expect(volume?.secret?.items?.map(({ path }) => path).sort()).toEqual(FILES)
    },
  )

  test('files are fetched over TLS too', () => {
    for (const server of servers) {
      const url = containerOf(server).env.find(({ name }) => name === 'MULTIHUB_ATTACHMENTS_URL')?.value
      if (url !== undefined) expect(url).toMatch(/^https:/)
    }
  })

  test('cert-manager makes them for the names by which pods call each other, and renews them before /readyz warns', () => {
    const folder = mkdtempSync(join(tmpdir(), 'multihub-overlay-'))
    try {
      const from = (path: string): string => relative(folder, resolve(import.meta.dirname, path))
      writeFileSync(
        join(folder, 'kustomization.yaml'),
        `namespace: multihub\nresources: [${from('overlays/production')}]\ncomponents: [${from('components/cert-manager')}]\n`,
      )
      const manifests = buildFolder(folder) as readonly unknown[]
      const certificates = (manifests as readonly (Certificate & { readonly kind: string })[]).filter(
        ({ kind }) => kind === 'Certificate',
      )
      const of_roles = certificates.filter(({ spec }) => spec.isCA !== true)
      expect(of_roles.map(({ spec }) => spec.secretName).sort()).toEqual(
        ROLES.map((role) => `multihub-tls-${role}`).sort(),
      )
      for (const { spec } of of_roles)
        expect(spec).toMatchObject({ renewBefore: '720h', issuerRef: { name: 'multihub-authority' } })
      const names = of_roles.flatMap(({ spec }) => spec.dnsNames ?? [])
      const called = servers.flatMap((server) =>
        containerOf(server).env.flatMap(({ name, value = '' }) =>
          name.endsWith('_ADDRESS') || name === 'MULTIHUB_ATTACHMENTS_URL'
            ? [
                value
                  .replace(/^https:\/\//, '')
                  .replace(/:\d+$/, '')
                  .replace('$(POD_NAMESPACE)', 'multihub')
                  .replace('$(POD_NAME)', '*'),
              ]
            : [],
        ),
      )
      expect(called.length).toBeGreaterThan(ROLES.length)
      for (const name of called) expect(names).toContain(name)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
