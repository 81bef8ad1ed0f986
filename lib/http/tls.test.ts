import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { ConfigError, readConfig } from '#lib/base/config/config.ts'
import { currentRequest } from '#lib/base/context.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { createRpc, type Rpc } from '#lib/rpc/rpc.ts'
import { RPC_SETTINGS } from '#lib/rpc/settings.ts'
import { type Certificates, makeAuthority } from '../../test/support/certificates.ts'
import { describeWith } from '../../test/support/needs.ts'
import {
  merchantService,
  recordingLog,
  rpcConfig,
  serveProcess,
  type TestProcess,
  tokenOf,
} from '../../test/support/rpc.ts'
import { openTls, type TlsFiles } from './tls.ts'

describeWith('openssl')('RPC over TLS', () => {
  let trusted: Certificates
  let foreign: Certificates
  let served: TestProcess
  const clients: Rpc[] = []

  beforeAll(async () => {
    trusted = await makeAuthority()
    foreign = await makeAuthority()
    const service = merchantService({
      getMerchant: async () => ({
        merchant: { merchantId: '1', name: currentRequest()?.caller ?? 'nobody' },
      }),
    })
    const environment = {
      ...(await tlsOf(trusted, 'merchants.internal')),
      MULTIHUB_RPC_CERTIFICATES: 'gateway:gateway.internal',
    }
    served = await serveProcess([service], { config: rpcConfig(environment) })
  })

  afterAll(async () => {
    for (const rpc of clients) rpc.close()
    await served.close()
    await trusted.remove()
    await foreign.remove()
  })

  async function tlsOf(certificates: Certificates, name: string): Promise<Record<string, string>> {
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
    clients.push(rpc)
    try {
      const { merchant } = await rpc.clientsOf('gateway')(MerchantService).getMerchant({})
      return merchant?.name ?? ''
    } catch (error) {
      if (error instanceof PublicError) return error.code
      throw error
    }
  }

  test('a certificate identifies its caller', async () => {
    expect(await call(await tlsOf(trusted, 'gateway.internal'))).toBe('gateway')
  })

  test('a certificate that the settings do not name identifies no caller, but a token with it does', async () => {
    const environment = await tlsOf(trusted, 'stranger.internal')
    expect(await call(environment)).toBe(2001)
    expect(await call({ ...environment, MULTIHUB_RPC_TOKEN: tokenOf('payments') })).toBe('payments')
  })

  test('refuses a certificate of another authority, and a client without TLS', async () => {
    expect(await call(await tlsOf(foreign, 'gateway.internal'))).toBe(2002)
    expect(await call({ MULTIHUB_RPC_TOKEN: tokenOf('payments') })).toBe(2002)
  })

  test('the Connect port requires a certificate or a token for RPCs, but not for the TLS connection', async () => {
    const path = '/multihub.merchants.v1.MerchantService/GetMerchant'
    expect(await https('GET', '/')).toBe(404)
    expect(await https('POST', path)).toBe(401)
    expect(await https('POST', path, await identityOf(trusted))).toBe(200)
    expect(await https('POST', path, await identityOf(foreign))).toBe(401)
  })

  test('the gRPC port survives clients without TLS or HTTP/2, and clients that disconnect during the handshake', async () => {
    const address = { host: '127.0.0.1', port: served.serving.grpc_port }
    const tls = { ...(await identityOf(trusted)), rejectUnauthorized: false }
    const sockets = [
      connect(address).end('GET / HTTP/1.1\r\nhost: x\r\n\r\n'),
      connect(address).end('\x16\x03\x01\x00\x05', 'latin1'),
      connectTls({ ...address, ...tls }).end('GET / HTTP/1.1\r\n\r\n'),
      connectTls({ ...address, ...tls, ALPNProtocols: ['http/1.1'] }),
      connectTls({ ...address, ...tls, ALPNProtocols: ['h2'] }).end('\0\xff'),
    ]
    const raw = connect(address)
    const aborted = connectTls({ socket: raw, ...tls, ALPNProtocols: ['h2'] })
    aborted.once('secureConnect', () => raw.resetAndDestroy())
    await Promise.all(
      [...sockets, aborted].map((socket) => {
        socket.on('error', () => {}).resume()
        return new Promise((resolve) => socket.once('close', resolve))
      }),
    )
    expect(await call(await tlsOf(trusted, 'gateway.internal'))).toBe('gateway')
  })

  test('the gRPC port closes a connection whose handshake goes on for 10 s', async () => {
    const socket = connect({ host: '127.0.0.1', port: served.serving.grpc_port })
    socket.write('\x16', 'latin1')
    await once(socket, 'close')
  }, 30_000)

  /** The key and certificate of a client, as Node's TLS takes them. */
  async function identityOf(certificates: Certificates): Promise<{ key: Buffer; cert: Buffer }> {
    const { key, certificate } = await certificates.issue('gateway.internal')
    return { key: await readFile(key), cert: await readFile(certificate) }
  }

  /** The HTTP status of a request to the Connect port, from a client with a certificate or without one. */
  async function https(
    method: string,
    path: string,
    identity: { key?: Buffer; cert?: Buffer } = {},
  ): Promise<number> {
    const ca = await readFile(trusted.ca)
    return new Promise((resolve, reject) => {
      const address = { host: '127.0.0.1', port: served.serving.connect_port, agent: false as const }
      const headers = { 'content-type': 'application/json' }
      const sent = request({ ...address, method, path, headers, ca, ...identity }, (response) => {
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
