import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { ROLES } from '#lib/platform/process/role.ts'
import { readContainerSettings } from './settings.fixture.ts'

/** The parts of a service that the tests read. */
interface Service {
  readonly image: string
  readonly build?: object
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly env_file: readonly string[]
  readonly secrets: readonly string[]
  readonly profiles?: readonly string[]
  readonly volumes?: readonly string[]
  readonly networks?: { readonly default: { readonly aliases: readonly string[] } }
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

const { services, secrets } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as Compose
const processes = Object.entries(services).filter(([, service]) => service.build !== undefined)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'multihub-compose-'))
  execFileSync(resolve('deploy/make-secrets.sh'), ['compose'], { cwd: folder })
})
afterAll(() => rmSync(folder, { recursive: true }))

test.each(processes)('the process %s accepts its settings', async (_name, service) => {
  const shared = service.env_file.flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  const own = Object.entries(service.environment).map(([name, value]) => {
    if (!value.startsWith('/run/secrets/')) return [name, value]
    const secret = basename(value)
    expect(service.secrets).toContain(secret)
    return [name, join(folder, secrets[secret]?.file ?? '')]
  })
  const variables = { ...Object.fromEntries([...shared, ...own]), MULTIHUB_HOST: '0.0.0.0' }
  expect(await readContainerSettings(service.command, variables)).toBe(
    'mongodb://mongodb:27017/?replicaSet=rs',
  )
})

test('no process sees the token of another', () => {
  for (const [, { command, secrets: seen = [] }] of processes)
    expect(seen.filter((name) => name.startsWith('rpc-') && name !== `rpc-${command[0]}`)).toEqual([])
})

test('every role runs once, and with the profile several at least twice under its name', () => {
  const first = processes
    .filter(([, { profiles }]) => profiles === undefined)
    .flatMap(([, { command }]) => command)
  expect(first.sort()).toEqual([...ROLES, 'migrate'].sort())
  const more = processes.filter(([, { profiles }]) => profiles?.[0] === 'several')
  const roles = new Set(more.flatMap(([, { command }]) => command))
  expect([...roles].sort()).toEqual(ROLES.filter((role) => role !== 'sandbox').sort())
  for (const [, { command, networks }] of more)
    if (command[0] !== 'gateway') expect(networks?.default.aliases).toEqual(command)
})

test('every image of others is named with its digest', () => {
  for (const [, { image, build }] of Object.entries(services))
    if (build === undefined) expect(image).toMatch(/@sha256:[0-9a-f]{64}$/)
})

test('the scanner has the settings of the manifests', () => {
  expect(services['clamav']?.volumes).toContain(
    './deploy/components/scanner/clamd.conf:/etc/clamav/clamd.conf:ro',
  )
})
