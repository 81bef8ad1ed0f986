import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { readConfig } from '#lib/base/config/config.ts'
import { currentRequest } from '#lib/base/context.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { type Certificates, makeAuthority } from '../../test/support/certificates.ts'
import { eventually } from '../../test/support/eventually.ts'
import { describeWith } from '../../test/support/needs.ts'
import { merchantService, recordingLog, rpcConfig, serveProcess } from '../../test/support/rpc.ts'
import { startTcpProxy, type TcpProxy } from '../../test/support/tcp-proxy.ts'
import { createRpc, type Rpc } from './rpc.ts'
import { RPC_SETTINGS } from './settings.ts'

const ending: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (let end = ending.pop(); end !== undefined; end = ending.pop()) await end()
})

const RELOAD_MS = 10

/** The files of one process. Each file is replaced atomically, one after the other. */
async function createFiles() {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-rotation-'))
  ending.push(() => rm(directory, { recursive: true, force: true }))
  const path = (name: string): string => join(directory, name)
  async function put(name: 'key' | 'certificate' | 'ca', from: string): Promise<void> {
    await copyFile(from, path('new'))
    await rename(path('new'), path(name))
  }
  return {
    path,
    put,
    async install(certificates: Certificates, name: string): Promise<void> {
      const issued = await certificates.issue(name)
      await put('key', issued.key)
      await put('certificate', issued.certificate)
      await put('ca', certificates.ca)
    },
    settings: {
      MULTIHUB_TLS_KEY: path('key'),
      MULTIHUB_TLS_CERTIFICATE: path('certificate'),
      MULTIHUB_TLS_CA: path('ca'),
    },
  }
}

type Files = Awaited<ReturnType<typeof createFiles>>

async function serve(files: Files) {
  const { log, lines } = recordingLog()
  const getMerchant = async () => ({ merchant: { name: currentRequest()?.caller ?? 'nobody' } })
  const service = merchantService({ getMerchant })
  const identities = { MULTIHUB_RPC_CERTIFICATES: 'gateway:gateway.internal,payments:payments.internal' }
  const config = rpcConfig({ ...files.settings, ...identities })
  const served = await serveProcess([service], { config, log, tls_reload_ms: RELOAD_MS })
  ending.push(() => served.close())
  const errors = (): number => lines.filter(({ level }) => level === 'error').length
  return { ...served.serving, lines, errors }
}

async function clientOf(files: Files, port: number): Promise<Rpc> {
  const address = { MULTIHUB_MERCHANTS_ADDRESS: `127.0.0.1:${port}` }
  const config = readConfig(RPC_SETTINGS, { ...address, ...files.settings })
  const rpc = await createRpc(config, recordingLog().log, RELOAD_MS)
  ending.push(() => rpc.close())
  return rpc
}

/** The name by which the server identified the caller, or the code of the error. */
async function callerSeen(rpc: Rpc): Promise<string | number> {
  try {
    return (await rpc.clientsOf('gateway')(MerchantService).getMerchant({})).merchant?.name ?? ''
  } catch (error) {
    if (error instanceof PublicError) return error.code
    throw error
  }
}

const newCaller = async (files: Files, port: number): Promise<string | number> =>
  callerSeen(await clientOf(files, port))

/** The fingerprint of the certificate that a port shows to a new connection. */
async function shownAt(port: number): Promise<string> {
  const options = { host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] }
  const socket = connect({ ...options, port })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

const fingerprintOf = async (path: string): Promise<string> =>
  new X509Certificate(await readFile(path)).fingerprint256

async function untilShown(port: number, path: string): Promise<void> {
  const wanted = await fingerprintOf(path)
  await eventually(
    () => shownAt(port),
    (seen) => seen === wanted,
  )
}

const through = async (port: number): Promise<TcpProxy> => {
  const proxy = await startTcpProxy('127.0.0.1', port)
  ending.push(() => proxy.cut())
  return proxy
}

describeWith('openssl')('files of TLS that are replaced under a running process', () => {
  let old: Certificates
  let next: Certificates
  beforeAll(async () => {
    old = await makeAuthority()
    next = await makeAuthority()
  })
  afterAll(async () => {
    await old.remove()
    await next.remove()
  })

  async function setUp() {
    const [server, client, late] = [await createFiles(), await createFiles(), await createFiles()]
    await server.install(old, 'merchants.internal')
    await client.install(old, 'gateway.internal')
    return { server, client, late, served: await serve(server) }
  }

  test('are used for new connections, incoming and outgoing, and keep open connections', async () => {
    const { server, client, late, served } = await setUp()
    const proxy = await through(served.grpc_port)
    const rpc = await clientOf(client, proxy.port)
    expect(await callerSeen(rpc)).toBe('gateway')

    await server.install(next, 'merchants.internal')
    await untilShown(served.grpc_port, server.path('certificate'))
    await untilShown(served.connect_port, server.path('certificate'))
    expect(await callerSeen(rpc)).toBe('gateway')
    await late.install(next, 'payments.internal')
    expect(await newCaller(late, served.grpc_port)).toBe('payments')
    expect(await newCaller(client, served.grpc_port)).toBe(2002)

    await client.install(next, 'payments.internal')
    expect(await callerSeen(rpc)).toBe('gateway')
    await proxy.cut()
    await proxy.restore()
    await eventually(
      () => callerSeen(rpc),
      (seen) => seen === 'payments',
    )
  })

  test('are not used while they do not match or cannot be read; each change logs this once', async () => {
    const { server, client, served } = await setUp()
    const in_use = await fingerprintOf(server.path('certificate'))
    const good = await old.issue('merchants.internal')
    const bad = await next.issue('merchants.internal')
    const whole = await readFile(good.certificate)
    const ca = await readFile(old.ca)
    const half = async (of: Buffer): Promise<string> => {
      await writeFile(server.path('half'), of.subarray(0, of.length / 2))
      return server.path('half')
    }
    const broken = [
      () => server.put('certificate', bad.certificate),
      async () => server.put('certificate', await half(whole)),
      () => rm(server.path('certificate')),
      () => rm(server.path('ca')),
      () => server.put('key', good.key),
      () => server.put('certificate', good.certificate),
      async () => server.put('ca', await half(ca)),
      async () => server.put('ca', await half(Buffer.concat([ca, ca, ca]))),
      async () => server.put('ca', await half(Buffer.alloc(0))),
    ]
    for (const [index, change] of broken.entries()) {
      await change()
      await eventually(
        async () => served.errors(),
        (count) => (count ?? 0) > index,
      )
      expect(await shownAt(served.grpc_port)).toBe(in_use)
      expect(await shownAt(served.connect_port)).toBe(in_use)
      expect(await newCaller(client, served.grpc_port)).toBe('gateway')
    }
    await server.put('ca', old.ca)
    await untilShown(served.grpc_port, good.certificate)
    await untilShown(served.connect_port, good.certificate)
    expect(await newCaller(client, served.grpc_port)).toBe('gateway')
    expect(JSON.stringify(served.lines)).not.toContain('PRIVATE KEY')
    expect(served.errors()).toBe(broken.length)
  })
})
