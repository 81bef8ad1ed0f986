import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { randomHex } from '#lib/base/crypto/random.ts'
import { ATTACHMENT_MAX_BYTES } from '#lib/contract/attachments.ts'
import { ROLES } from '#lib/role/role.ts'
import { diagnose } from '../../operations/doctor/doctor.ts'
import { runUntilEnd, type SystemProcess, startProcess } from '../support/child.ts'
import { runHere } from '../support/command.ts'
import { ANY_PORTS, freePort } from '../support/free-port.ts'
import { startOtlpReceiver } from '../support/otlp-receiver.ts'
import { startScriptedClamd } from '../support/scripted-clamd.ts'
import { mongodbForTests } from '../support/servers.ts'

const KEYS = { MULTIHUB_MASTER_KEYS: `test:${randomHex(32)}`, MULTIHUB_SANDBOX_KEY: randomHex(32) }
const NO_SCANNER = 'WARNING  virus scanner: none: uploaded files wait until MULTIHUB_SCANNER is set'
const server = await mongodbForTests()

async function runDoctor(words: readonly string[], variables: Readonly<Record<string, string>>) {
  const { code, output, log } = await runHere(diagnose, words, variables)
  return { code, lines: output.trimEnd().split('\n'), log }
}

test('doctor reports every problem of the settings', async () => {
  const { code, lines, log } = await runDoctor(['payments'], { MULTIHUB_PAYMENT_ADDRESS: 'x:1' })
  expect(code).toBe(1)
  expect(lines).toEqual([
    expect.stringMatching(/^PROBLEM {2}settings: MULTIHUB_MASTER_KEYS is missing/),
    expect.stringMatching(/^PROBLEM {2}settings: NATS_URL is missing/),
    expect.stringMatching(/^PROBLEM {2}settings: MULTIHUB_PAYMENT_ADDRESS is not a setting/),
  ])
  expect(log).toBe('3 problems were found; correct the settings, then the rest can be checked\n')
})

describe('doctor, next to a running system on embedded files', () => {
  let home: string
  let system: SystemProcess
  let keys: { readonly master_key: string; readonly sandbox_key: string }
  let urls: Readonly<Record<string, string>>
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'multihub-doctor-'))
    const started = await startProcess('scripts/start.ts', [], {
      MULTIHUB_HOME: home,
      MULTIHUB_BUS_AUTH: 'accept',
      ...ANY_PORTS,
    })
    system = started
    urls = started.urls
    keys = JSON.parse(await readFile(join(home, 'keys.json'), 'utf8'))
  })
  afterAll(async () => {
    await system.stop()
    await rm(home, { recursive: true, force: true })
  })
  const variables = (master_keys: string) => ({
    MULTIHUB_HOME: home,
    MULTIHUB_MASTER_KEYS: master_keys,
    MULTIHUB_SANDBOX_KEY: keys.sandbox_key,
  })

  test('finds every database complete', async () => {
    const { code, lines } = await runDoctor([], variables(`local:${keys.master_key}`))
    expect(lines.filter((line) => !line.startsWith('ok'))).toEqual([NO_SCANNER])
    for (const role of ROLES)
      expect(lines).toContainEqual(expect.stringMatching(`^ok       database multihub_${role}: complete, `))
    expect(lines).toContainEqual(expect.stringContaining('multihub_merchants: complete, the keys fit'))
    expect(code).toBe(0)
  })

  test('finds the scanner, the public URL, the files, the sandbox and the collector in order', async () => {
    const [clamd, collector] = await Promise.all([startScriptedClamd(), startOtlpReceiver()])
    try {
      const { code, output, log } = await runUntilEnd('main.ts', ['doctor', '--json'], {
        ...variables(`local:${keys.master_key}`),
        MULTIHUB_SCANNER: clamd.address,
        MULTIHUB_PUBLIC_URL: `${urls['base_url']}/`,
        MULTIHUB_ATTACHMENTS_URL: `${urls['attachments_url']}`,
        MULTIHUB_SANDBOX_URL: `${urls['sandbox_url']}`,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20otlp-key',
      })
      const { findings } = JSON.parse(output)
      expect({ code, log }).toEqual({ code: 0, log: '' })
      for (const [subject, text] of [
        [
          'virus scanner',
          expect.stringMatching(/^ClamAV 1\.4\.3 with the signatures 27700 of .+ files of 10 MiB$/),
        ],
        [`public URL ${urls['base_url']}`, 'a gateway answers'],
        [`files at ${urls['attachments_url']}`, 'the attachments role answers'],
        [`provider ${urls['sandbox_url']}`, 'can be reached, for sandbox'],
        [`collector ${collector.url}`, 'takes traces'],
      ])
        expect(findings).toContainEqual({ status: 'ok', subject, text })
      expect(clamd.received.map(({ length }) => length)).toEqual([ATTACHMENT_MAX_BYTES])
      expect(collector.requests).toContainEqual(
        expect.objectContaining({ path: '/v1/traces', authorization: 'Bearer otlp-key' }),
      )
      expect(output).not.toContain('otlp-key')
    } finally {
      await Promise.all([clamd.close(), collector.stop()])
    }
  })

  // O9: before an old key is removed, it shows which processes still use it.
  test('the id of the active master key is a metric', async () => {
    const metrics = await (await fetch(`${urls['health_url']}/metrics`)).text()
    expect(metrics).toMatch(/^multihub_active_master_key\{key_id="local"\} 1$/m)
  })

  // O10
  test('unsigned messages of the bus are not accepted silently', async () => {
    const text = 'unsigned messages of the bus are accepted; remove MULTIHUB_BUS_AUTH=accept'
    const [readyz, metrics] = await Promise.all(
      ['readyz', 'metrics'].map(async (path) => (await fetch(`${urls['health_url']}/${path}`)).text()),
    )
    for (const role of ['notifier', 'payments', 'support'])
      expect(readyz).toMatch(new RegExp(`^${role}: ${text}`, 'm'))
    expect(readyz?.split('\n')[0]).toBe('ready')
    expect(metrics).toMatch(/^multihub_bus_accepts_unsigned 1$/m)
    expect(system.log()).toContain(text)
    const { lines } = await runDoctor([], {
      ...variables(`local:${keys.master_key}`),
      MULTIHUB_BUS_AUTH: 'accept',
    })
    expect(lines).toContainEqual(expect.stringMatching(`^WARNING  MULTIHUB_BUS_AUTH: ${text}`))
  })

  test('finds that no collector of traces listens', async () => {
    const collector = `http://127.0.0.1:${await freePort()}`
    const { code, lines } = await runDoctor(['sandbox'], {
      ...variables(`local:${keys.master_key}`),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector,
    })
    expect(lines).toContainEqual(
      expect.stringMatching(`^PROBLEM {2}collector ${collector}: .*correct OTEL_EXPORTER_OTLP_ENDPOINT`),
    )
    expect(code).toBe(1)
  })

  test('says when the keys are those of another system', async () => {
    const { code, lines, log } = await runDoctor([], variables(KEYS.MULTIHUB_MASTER_KEYS))
    expect(lines.filter((line) => !line.startsWith('ok'))).toEqual([
      'PROBLEM  database multihub_merchants: none of the stored secrets can be decrypted; provide the keys that encrypted them',
      NO_SCANNER,
    ])
    expect({ code, log }).toEqual({ code: 1, log: '1 problem was found\n' })
  })
})

// O23.5
test('in Kubernetes doctor demands a decision about backups, and accepts each of the three', async () => {
  const home = await mkdtemp(join(tmpdir(), 'multihub-doctor-'))
  try {
    const decide = async (variables: Readonly<Record<string, string>>) => {
      const pod = {
        KUBERNETES_SERVICE_HOST: '10.0.0.1',
        MULTIHUB_EMBEDDED_STORE: 'true',
        MULTIHUB_HOME: home,
      }
      const { code, lines } = await runDoctor(['all'], { ...KEYS, ...pod, ...variables })
      return { code, line: lines.find((line) => line.includes(' MULTIHUB_BACKUPS')) }
    }
    expect(await decide({})).toEqual({
      code: 1,
      line: 'PROBLEM  MULTIHUB_BACKUPS: decide where backups are kept: set claim, object or elsewhere',
    })
    for (const place of ['claim', 'object', 'elsewhere'])
      expect(await decide({ MULTIHUB_BACKUPS: place })).toEqual({
        code: 0,
        line: expect.stringMatching(`^ok       MULTIHUB_BACKUPS: ${place}: `),
      })
  } finally {
    await rm(home, { recursive: true, force: true })
  }
})

if ('skip' in server) test.skip(`doctor on MongoDB: ${server.skip}`, () => {})
else
  test('doctor says what to do about a database without indexes, a bus and a role that do not run', async () => {
    const port = await freePort()
    const { code, lines } = await runDoctor(['notifier'], {
      ...KEYS,
      MULTIHUB_SYSTEM_NAME: `doctor_${randomHex(4)}`,
      MONGODB_URI: server.uri,
      NATS_URL: `nats://127.0.0.1:${port}`,
      MULTIHUB_MERCHANTS_ADDRESS: `127.0.0.1:${port}`,
    })
    expect(lines.filter((line) => !line.startsWith('ok'))).toEqual([
      expect.stringMatching(
        /^PROBLEM {2}database doctor_\w+_notifier: the collection .+ run "main\.ts migrate" of this release.+$/,
      ),
      expect.stringMatching(/^PROBLEM {2}NATS: NATS does not answer/),
      expect.stringMatching(
        /^PROBLEM {2}merchants at 127.0.0.1:\d+: .+ start that role, or correct MULTIHUB_MERCHANTS_ADDRESS$/,
      ),
    ])
    expect(code).toBe(1)
    await server.stop()
  })
