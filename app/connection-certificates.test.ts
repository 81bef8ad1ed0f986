import { readFile, writeFile } from 'node:fs/promises'
import { createServer as createTlsServer, type Server as HttpsServer, type ServerOptions } from 'node:https'
import { createServer, type Socket } from 'node:net'
import { createSecureContext, TLSSocket, type TLSSocketOptions } from 'node:tls'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { clock, every } from '#lib/base/time.ts'
import { certificateProblems, measureCertificates } from '#lib/http/certificate-ends.ts'
import { listen } from '#lib/http/network.ts'
import { readCertificateEnd } from '#lib/role/environment-check.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { type Certificates, makeAuthority } from '../test/support/certificates.ts'
import { eventually } from '../test/support/eventually.ts'
import { freePort } from '../test/support/free-port.ts'
import { installManualClock } from '../test/support/manual-clock.ts'
import { describeWith } from '../test/support/needs.ts'
import {
  type ConnectionSettings,
  readConnectionCertificates,
  watchConnectionCertificates,
} from './connection-certificates.ts'
import { createLifecycle } from './lifecycle.ts'

const DAY_MS = 86_400_000
const NO_SETTINGS: ConnectionSettings = {
  nats_url: undefined,
  nats_tls_authority: undefined,
  nats_tls_certificate: undefined,
  nats_tls_key: undefined,
  mongodb_uri: undefined,
}

describeWith('openssl')('the certificates of connections', () => {
  let authority: Certificates
  let port_with: Readonly<Record<'year' | 'soon' | 'ended' | 'nats', number>>
  let client: { readonly key: string; readonly certificate: string; readonly both: string }
  const close: (() => Promise<unknown>)[] = []

  async function open(server: HttpsServer | ReturnType<typeof createServer>): Promise<number> {
    const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'test' })
    close.push(() => listening.close(0))
    return Number(listening.host_and_port.split(':').at(-1))
  }

  /** Serves TLS with a certificate that is valid for this number of days, as MongoDB does. */
  async function serve(days: number, options: ServerOptions = {}): Promise<number> {
    const { key, certificate } = await authority.issue(`server${days}`, { days })
    return open(createTlsServer({ key: await readFile(key), cert: await readFile(certificate), ...options }))
  }

  /** Serves TLS after a greeting, as NATS does. */
  async function serveNats(days: number, demands: TLSSocketOptions = {}): Promise<number> {
    const files = await authority.issue('nats', { days })
    const secureContext = createSecureContext({
      key: await readFile(files.key),
      cert: await readFile(files.certificate),
      ca: await readFile(authority.ca),
      maxVersion: 'TLSv1.2',
    })
    const greet = (socket: Socket): void => {
      socket.write('INFO {"tls_required":true} \r\n')
      new TLSSocket(socket, { isServer: true, secureContext, ...demands }).on('error', () => {})
    }
    return open(createServer(greet))
  }

  beforeAll(async () => {
    authority = await makeAuthority()
    const files = await authority.issue('client', { days: 5 })
    client = { ...files, both: `${files.key}.both` }
    await writeFile(client.both, [await readFile(files.key), await readFile(files.certificate)])
    port_with = {
      year: await serve(365),
      soon: await serve(10),
      ended: await serve(-1),
      nats: await serveNats(7),
    }
  })
  afterAll(async () => {
    for (const end of close) await end()
    await authority.remove()
  })

  const mongodbAt = (...ports: readonly number[]): Secret => {
    const servers = ports.map((port) => `127.0.0.1:${port}`).join(',')
    return new Secret(`mongodb://user:secret@${servers}/?tls=true`)
  }

  /** What the metric shows for each setting in days, rounded up, and what is named. */
  async function seenWith(settings: Partial<ConnectionSettings>) {
    const certificates = await readConnectionCertificates({ ...NO_SETTINGS, ...settings })
    measureCertificates(certificates, clock.now_ms())
    const lines = (await metricsText()).matchAll(
      /^multihub_certificate_remaining_seconds\{setting="(\w+)"\} (\S+)$/gm,
    )
    const days = Object.fromEntries(
      [...lines].map(([, setting, seconds]) => [setting, Math.ceil((Number(seconds) * 1_000) / DAY_MS)]),
    )
    const { expired, ending } = certificateProblems(certificates, clock.now_ms())
    return { days, expired, ending }
  }

  test('of several servers the first to end counts, and each that ends within 14 days is named', async () => {
    const { days, expired, ending } = await seenWith({
      mongodb_uri: mongodbAt(port_with.year, port_with.soon),
    })
    expect(days).toEqual({ MONGODB_URI: 10 })
    expect(expired).toBeUndefined()
    expect(ending).toEqual([
      expect.stringMatching(
        new RegExp(
          `^the certificate of the server 127.0.0.1:${port_with.soon} of MONGODB_URI ends at 20.*Z: renew it$`,
        ),
      ),
    ])
  })

  test('an expired one is named, and makes the process not unready: another process could not connect either', async () => {
    const { days, expired, ending } = await seenWith({ mongodb_uri: mongodbAt(port_with.ended) })
    expect(days['MONGODB_URI']).toBeLessThanOrEqual(0)
    expect(expired).toBeUndefined()
    expect(ending).toEqual([expect.stringContaining(`${port_with.ended} of MONGODB_URI expired at`)])
  })

  test('the servers of NATS, which greet first, and the files of the process are read', async () => {
    const { days, ending } = await seenWith({
      nats_url: new Secret(`tls://127.0.0.1:${port_with.nats}`),
      nats_tls_authority: authority.ca,
      nats_tls_certificate: client.certificate,
      nats_tls_key: client.key,
    })
    expect(days).toMatchObject({ NATS_URL: 7, NATS_TLS_CERTIFICATE: 5, NATS_TLS_CA: 400 })
    expect(ending).toHaveLength(2)
  })

  test('the files in the URI of MongoDB count as its servers do', async () => {
    const uri = mongodbAt(port_with.year).reveal()
    const files = `tlsCAFile=${authority.ca}&tlsCertificateKeyFile=${client.both}`
    const { days, ending } = await seenWith({ mongodb_uri: new Secret(`${uri}&${files}`) })
    expect(days['MONGODB_URI']).toBe(5)
    expect(ending).toEqual([
      expect.stringMatching(/^the certificate of tlsCertificateKeyFile in MONGODB_URI ends at /),
    ])
  })

  test('the servers that the DNS name of a cluster has are read', async () => {
    const resolve = async () => [{ name: '127.0.0.1', port: port_with.soon }]
    const mongodb_uri = new Secret('mongodb+srv://db.example.com/')
    const [found] = await readConnectionCertificates({ ...NO_SETTINGS, mongodb_uri }, { resolve })
    expect(found).toMatchObject({
      setting: 'MONGODB_URI',
      ends: [{ subject: expect.stringContaining('127.0.0.1') }],
    })
  })

  test('a server that does not answer gives no value, and keeps no other from its value', async () => {
    const nats_url = new Secret(`tls://127.0.0.1:${port_with.nats}`)
    const nowhere = await freePort()
    expect((await seenWith({ nats_url, mongodb_uri: mongodbAt(port_with.soon) })).days).toMatchObject({
      MONGODB_URI: 10,
    })
    const { days } = await seenWith({ nats_url, mongodb_uri: mongodbAt(nowhere) })
    expect(days).toMatchObject({ NATS_URL: 7 })
    expect(days).not.toHaveProperty('MONGODB_URI')
    const absent = { ...NO_SETTINGS, nats_url, nats_tls_authority: `${authority.ca}.absent` }
    expect(await readConnectionCertificates(absent)).toMatchObject([
      { setting: 'NATS_TLS_CA', ends: [] },
      { setting: 'NATS_URL', ends: [] },
    ])
  })

  test('they are read at the start and again after an hour, when one can have been renewed', async () => {
    using manual = installManualClock()
    const lifecycle = createLifecycle()
    const [old, renewed] = [
      await authority.issue('old', { days: 3 }),
      await authority.issue('renewed', { days: 90 }),
    ]
    const server = createTlsServer({ key: await readFile(old.key), cert: await readFile(old.certificate) })
    const mongodb_uri = mongodbAt(await open(server))
    const certificates = watchConnectionCertificates(lifecycle, { ...NO_SETTINGS, mongodb_uri })
    const untilItEndsIn = (days: number) =>
      eventually(
        async () => certificates()[0]?.ends[0]?.end_ms ?? 0,
        (end_ms = 0) => Math.ceil((end_ms - Date.now()) / DAY_MS) === days,
      )
    await manual.advance(0)
    await untilItEndsIn(3)
    server.setSecureContext({
      key: await readFile(renewed.key),
      cert: await readFile(renewed.certificate),
    })
    await manual.advance(3_600_000)
    await untilItEndsIn(90)
    await lifecycle.stop(0)
  })

  test('a server of MongoDB that demands the certificate of the process gets it', async () => {
    const demands = { ca: await readFile(authority.ca), requestCert: true, rejectUnauthorized: true }
    const port = await serve(20, { ...demands, maxVersion: 'TLSv1.2' })
    const files = `tlsCAFile=${authority.ca}&tlsCertificateKeyFile=${client.both}`
    const mongodb_uri = new Secret(`${mongodbAt(port).reveal()}&${files}`)
    const [found] = await readConnectionCertificates({ ...NO_SETTINGS, mongodb_uri })
    expect(found?.ends.map(({ subject }) => subject)).toContain(
      `the certificate of the server 127.0.0.1:${port} of MONGODB_URI`,
    )
  })

  test('so does a server of NATS', async () => {
    const port = await serveNats(20, { requestCert: true, rejectUnauthorized: true })
    const nats_tls = { nats_tls_certificate: client.certificate, nats_tls_key: client.key }
    const nats_url = new Secret(`tls://127.0.0.1:${port}`)
    const found = await readConnectionCertificates({ ...NO_SETTINGS, ...nats_tls, nats_url })
    expect(found.find(({ setting }) => setting === 'NATS_URL')?.ends).toHaveLength(1)
  })

  test('an end that was read counts until it is read again, for each server', async () => {
    const gone = await freePort()
    const endOf = (port: number, end_ms: number) => ({
      subject: `the certificate of the server 127.0.0.1:${port} of MONGODB_URI`,
      end_ms,
    })
    const earlier = [
      { setting: 'MONGODB_URI', ends: [endOf(gone, 1), endOf(port_with.year, 2), endOf(1, 3)] },
    ]
    const settings = { ...NO_SETTINGS, mongodb_uri: mongodbAt(gone, port_with.year) }
    const [found] = await readConnectionCertificates(settings, { earlier })
    expect(found?.ends).toEqual([endOf(gone, 1), endOf(port_with.year, expect.any(Number) as never)])
    expect(found?.ends[1]?.end_ms).toBeGreaterThan(2)
    const by_name = { ...NO_SETTINGS, mongodb_uri: new Secret('mongodb+srv://db.example.com/') }
    const resolve = () => Promise.reject(new Error('DNS does not answer'))
    expect(await readConnectionCertificates(by_name, { earlier, resolve })).toEqual(earlier)
  })

  test.each([
    ['a greeting', true, 'I'],
    ['a handshake', false, '\x16\x03\x03\x3f'],
  ])('%s that comes byte by byte without an end is given up at the limit', async (_, greets_first, first) => {
    const drip = (socket: Socket): void => {
      socket.on('error', () => {}).write(Buffer.from(first, 'latin1'))
      const timer = every(
        20,
        async () => void socket.write('I'),
        () => {},
      )
      socket.once('close', () => timer.cancel())
    }
    const server = { host: '127.0.0.1', port: await open(createServer(drip)) }
    const options = { limit_ms: 200, advice: 'wait', authority: 'none', greets_first }
    await expect(readCertificateEnd(server, options)).rejects.toThrow('no answer within 0.2 s: wait')
  })

  test('without TLS nothing is read', async () => {
    const nats_url = new Secret('nats://127.0.0.1:4222')
    const mongodb_uri = new Secret('mongodb://127.0.0.1/')
    expect(await readConnectionCertificates({ ...NO_SETTINGS, nats_url, mongodb_uri })).toEqual([])
  })
})
