import { readFile } from 'node:fs/promises'
import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import { Client, connectivityState, credentials, Metadata } from '@grpc/grpc-js'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { openTls, type Tls } from '#lib/http/tls.ts'
import { type Certificates, makeAuthority } from '../../../test/support/certificates.ts'
import { fillPort } from '../../../test/support/fill-port.ts'
import { describeWith } from '../../../test/support/needs.ts'
import { merchantService, recordingLog } from '../../../test/support/rpc.ts'
import { serveConnect } from './connect-server.ts'
import { createDispatcher } from './dispatch.ts'
import { serveGrpc } from './grpc-server.ts'

const PATH = '/multihub.merchants.v1.MerchantService/GetMerchant'
const TOKEN = 'Bearer right'
const CONNECTIONS_MAX = 4

describeWith('openssl')('a port for RPCs that is full of silent connections', () => {
  let authority: Certificates
  let tls: Tls
  const ends: (() => unknown)[] = []
  beforeAll(async () => {
    authority = await makeAuthority()
    const opened = await openTls(
      { ...(await authority.issue('merchants.internal')), ca: undefined },
      recordingLog().log,
      60_000,
    )
    if (opened === undefined) throw new Error('no TLS')
    tls = opened
  })
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })
  afterAll(async () => {
    tls.close()
    await authority.remove()
  })

  const portOptions = (is_secure: boolean) => {
    const authenticate = ({ authorization }: { readonly authorization?: string | undefined }) =>
      authorization === TOKEN ? ('gateway' as const) : undefined
    return {
      host: '127.0.0.1',
      port: 0,
      endpoints: createDispatcher(authenticate, recordingLog().log)(merchantService()),
      authenticate,
      tls: is_secure ? tls : undefined,
      connections_max: CONNECTIONS_MAX,
    }
  }

  const fill = async (port: number): Promise<void> => void ends.push(await fillPort(port, CONNECTIONS_MAX))

  /** Calls over gRPC, and says whether the connection of the call is still open when the port was filled. */
  async function staysOpenOverGrpc(is_secure: boolean, authorization: string): Promise<boolean> {
    const { port, close } = await serveGrpc(portOptions(is_secure))
    ends.push(() => close(0))
    const insecure = credentials.createInsecure()
    const secure = credentials.createSsl(await caOf(authority))
    const client = new Client(`127.0.0.1:${port}`, is_secure ? secure : insecure)
    ends.push(() => client.close())
    const metadata = new Metadata()
    metadata.set('authorization', authorization)
    const same = (bytes: Buffer): Buffer => bytes
    await new Promise((resolve) =>
      client.makeUnaryRequest(PATH, same, same, Buffer.alloc(0), metadata, resolve),
    )
    await fill(port)
    const state = client.getChannel().getConnectivityState(false)
    return state === connectivityState.READY
  }

  /** The same over Connect. */
  async function staysOpenOverConnect(is_secure: boolean, authorization: string): Promise<boolean> {
    const { port, close } = await serveConnect(portOptions(is_secure))
    ends.push(() => close(0))
    const options = { keepAlive: true, maxSockets: 1 }
    const agent = is_secure
      ? new HttpsAgent({ ...options, ca: await caOf(authority) })
      : new HttpAgent(options)
    ends.push(() => agent.destroy())
    const send = is_secure ? requestHttps : requestHttp
    let socket: Socket | undefined
    await new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', authorization }
      const call = send({ agent, host: '127.0.0.1', port, path: PATH, method: 'POST', headers }, (response) =>
        response.resume().once('end', resolve),
      )
      call.once('socket', (used) => {
        socket = used
      })
      call.once('error', reject).end('{}')
    })
    if (socket === undefined) throw new Error('the call had no connection')
    await fill(port)
    return !socket.destroyed
  }

  test.each([
    ['gRPC', false, staysOpenOverGrpc],
    ['gRPC', true, staysOpenOverGrpc],
    ['Connect', false, staysOpenOverConnect],
    ['Connect', true, staysOpenOverConnect],
  ])(
    'keeps the connection of a caller over %s (TLS: %s), and closes that of a stranger',
    async (_name, is_secure, staysOpen) => {
      expect(await staysOpen(is_secure, TOKEN)).toBe(true)
      expect(await staysOpen(is_secure, 'Bearer wrong')).toBe(false)
    },
  )
})

async function caOf({ ca }: Certificates): Promise<Buffer> {
  return readFile(ca)
}
