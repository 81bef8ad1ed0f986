import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { ConfigError, readConfig } from '#lib/platform/config/config.ts'
import { currentRequest } from '#lib/platform/context.ts'
import { createRpc, type Rpc } from '#lib/platform/rpc/rpc.ts'
import { RPC_SETTINGS } from '#lib/platform/rpc/settings.ts'
import { makeAuthority } from '../../../../test/support/certificates.ts'
import {
  merchantService,
  recordingLog,
  rpcConfig,
  serveProcess,
  type TestProcess,
  tokenOf,
} from '../../../../test/support/rpc.ts'
import { openTls, type TlsFiles } from './tls.ts'

const ours = await makeAuthority()
const foreign = await makeAuthority()
const whenFound = ours === undefined || foreign === undefined ? describe.skip : describe
if (ours === undefined) process.stderr.write('skipped: RPC over TLS (the program openssl is not installed)\n')

whenFound('RPC over TLS', () => {
  let served: TestProcess
  const open: Rpc[] = []

  beforeAll(async () => {
    const service = merchantService({
      getMerchant: async () => ({
        merchant: { merchantId: '1', name: currentRequest()?.caller ?? 'nobody' },
      }),
    })
    const environment = {
      ...(await tlsOf(ours, 'merchants.internal')),
      MULTIHUB_RPC_CERTIFICATES: 'gateway:gateway.internal',
    }
    served = await serveProcess([service], { config: rpcConfig(environment) })
  })

  afterAll(async () => {
    for (const rpc of open) rpc.close()
    await served.close()
    await ours?.remove()
    await foreign?.remove()
  })

  async function tlsOf(certificates: typeof ours, name: string): Promise<Record<string, string>> {
    if (certificates === undefined) throw new Error('the certificate authority is missing')
    const { key, certificate } = await certificates.issue(name)
    return {
      MULTIHUB_TLS_KEY: key,
      MULTIHUB_TLS_CERTIFICATE: certificate,
      MULTIHUB_TLS_CA: certificates.ca,
    }
  }

  async function call(environment: Record<string, string>): Promise<string | number> {
    const address = { MULTIHUB_MERCHANTS_ADDRESS: `127.0.0.1:${served.serving.grpc_port}` }
    const rpc = await createRpc(readConfig(RPC_SETTINGS, { ...address, ...environment }))
    open.push(rpc)
    try {
      const { merchant } = await rpc.clientsOf('gateway')(MerchantService).getMerchant({})
      return merchant?.name ?? ''
    } catch (error) {
      if (error instanceof PublicError) return error.code
      throw error
    }
  }

  test('a certificate identifies its caller', async () => {
    expect(await call(await tlsOf(ours, 'gateway.internal'))).toBe('gateway')
  })

  test('a certificate that the settings do not name identifies no caller, but a token with it does', async () => {
    const environment = await tlsOf(ours, 'stranger.internal')
    expect(await call(environment)).toBe(2001)
    expect(await call({ ...environment, MULTIHUB_RPC_TOKEN: tokenOf('payments') })).toBe('payments')
  })

  test('refuses a certificate of another authority, and a client without TLS', async () => {
    expect(await call(await tlsOf(foreign, 'gateway.internal'))).toBe(2002)
    expect(await call({ MULTIHUB_RPC_TOKEN: tokenOf('payments') })).toBe(2002)
  })

  test('the Connect port requires a certificate or a token for RPCs, but not for the TLS connection', async () => {
    const own = await ours?.issue('gateway.internal')
    const key = own && { key: await readFile(own.key), cert: await readFile(own.certificate) }
    const path = '/multihub.merchants.v1.MerchantService/GetMerchant'
    expect(await https('GET', '/')).toBe(404)
    expect(await https('POST', path)).toBe(401)
    expect(await https('POST', path, key)).toBe(200)
    const other = await foreign?.issue('gateway.internal')
    const forged = other && { key: await readFile(other.key), cert: await readFile(other.certificate) }
    expect(await https('POST', path, forged)).toBe(401)
  })

  test('the gRPC port survives clients without TLS or HTTP/2, and clients that disconnect during the handshake', async () => {
    const own = await ours?.issue('gateway.internal')
    const place = { host: '127.0.0.1', port: served.serving.grpc_port }
    const secrets = own && { key: await readFile(own.key), cert: await readFile(own.certificate) }
    const ends = [
      connect(place).end('GET / HTTP/1.1\r\nhost: x\r\n\r\n'),
      connect(place).end('\x16\x03\x01\x00\x05', 'latin1'),
      connectTls({ ...place, ...secrets, rejectUnauthorized: false }).end('GET / HTTP/1.1\r\n\r\n'),
      connectTls({ ...place, ...secrets, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }),
      connectTls({ ...place, ...secrets, rejectUnauthorized: false, ALPNProtocols: ['h2'] }).end('\0\xff'),
    ]
    const raw = connect(place)
    const cut = connectTls({ socket: raw, ...secrets, rejectUnauthorized: false, ALPNProtocols: ['h2'] })
    cut.once('secureConnect', () => raw.resetAndDestroy())
    await Promise.all(
      [...ends, cut].map((socket) => {
        socket.on('error', () => {}).resume()
        return new Promise((resolve) => socket.once('close', resolve))
      }),
    )
    expect(await call(await tlsOf(ours, 'gateway.internal'))).toBe('gateway')
  })

  async function https(
    method: string,
    path: string,
    identity: { key?: Buffer; cert?: Buffer } = {},
  ): Promise<number> {
    const ca = await readFile(ours?.ca ?? '')
    return new Promise((resolve, reject) => {
      const place = { host: '127.0.0.1', port: served.serving.connect_port, agent: false as const }
      const headers = { 'content-type': 'application/json' }
      const sent = request({ ...place, method, path, headers, ca, ...identity }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
      sent.on('error', reject).end(method === 'POST' ? '{}' : undefined)
    })
  }
})

describe('the TLS settings', () => {
  const open = (files: TlsFiles) => openTls(files, recordingLog().log, 60_000)

  test('are refused at the start when they are incomplete', async () => {
    await expect(open({ key: '/k' })).rejects.toThrow(ConfigError)
    await expect(open({ ca: '/ca' })).rejects.toThrow(ConfigError)
    expect(await open({})).toBeUndefined()
  })

  test('are refused at the start when a file is missing or has other content', async () => {
    const [nowhere, other] = ['/no/such/file', 'package.json']
    await expect(open({ key: nowhere, certificate: nowhere })).rejects.toThrow(/MULTIHUB_TLS_KEY .*ENOENT/)
    await expect(open({ key: other, certificate: other })).rejects.toThrow(ConfigError)
  })
})
