import { createConnection } from 'node:net'
import { create, createFileRegistry, fromBinary } from '@bufbuild/protobuf'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import {
  type DescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import {
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { afterEach, describe, expect, test } from '@jest/globals'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { currentRequest, type RequestContext } from '#lib/base/context.ts'
import { isUuid } from '#lib/base/ids.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { freePort } from '../../../test/support/free-port.ts'
import {
  grpcClient,
  merchantService,
  recordingLog,
  rpcConfig,
  serveProcess,
  tokenOf,
} from '../../../test/support/rpc.ts'
import { fromGrpcStatus } from '../errors.ts'

const GET = '/multihub.merchants.v1.MerchantService/GetMerchant'

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (let end = cleanups.pop(); end !== undefined; end = cleanups.pop()) await end()
})

type Methods = NonNullable<Parameters<typeof merchantService>[0]>

async function serve(methods: Methods = {}, port = 0, draining = new AbortController().signal) {
  const { log, lines } = recordingLog()
  const config = rpcConfig({ MULTIHUB_GRPC_PORT: String(port) })
  const served = await serveProcess([merchantService(methods)], { config, log, draining })
  cleanups.push(() => served.close())
  return { ...served, lines, address: `127.0.0.1:${served.serving.grpc_port}` }
}

async function connect(address: string) {
  const client = await grpcClient(address, tokenOf('gateway'))
  cleanups.push(() => client.close())
  return client.merchants
}

const outcome = (call: Promise<unknown>): Promise<number | 'ok'> =>
  call.then(
    () => 'ok' as const,
    (error: unknown) => (error instanceof PublicError ? error.code : -1),
  )

/** A client without our code, which sends and receives bytes. */
function rawClient(address: string) {
  const client = new Client(address, credentials.createInsecure())
  cleanups.push(() => client.close())
  const same = (bytes: Buffer): Buffer => bytes
  return {
    unary: (path: string, request: Uint8Array, entries: Record<string, string> = {}) =>
      new Promise<{ error: ServiceError | null; response: Buffer | undefined }>((resolve) => {
        client.makeUnaryRequest(
          path,
          same,
          same,
          Buffer.from(request),
          metadata(entries),
          (error, response) => resolve({ error, response }),
        )
      }),
    stream: (path: string, entries: Record<string, string> = {}): ClientDuplexStream<Buffer, Buffer> =>
      client.makeBidiStreamRequest(path, same, same, metadata(entries)),
    watch: (path: string, request: Uint8Array) =>
      client.makeServerStreamRequest(path, same, same, Buffer.from(request), new Metadata()),
  }
}

function metadata(entries: Record<string, string>): Metadata {
  const made = new Metadata()
  for (const [name, value] of Object.entries(entries)) made.set(name, value)
  return made
}

/** The file of a symbol after all its imports. Imports that reflection did not send along are requested by name. */
async function filesOf(
  symbol: string,
  ask: (request: Buffer) => Promise<Buffer>,
): Promise<readonly FileDescriptorProto[]> {
  const [by_name, by_symbol] = [0x1a, 0x22]
  const request = (tag: number, text: string): Buffer =>
    Buffer.concat([Buffer.from([tag, text.length]), Buffer.from(text)])
  const received = describedFiles(await ask(request(by_symbol, symbol)))
  const ordered = new Set<FileDescriptorProto>()
  const add = async (file: FileDescriptorProto | undefined): Promise<void> => {
    if (file === undefined) throw new Error('reflection returned no file')
    for (const path of file.dependency) {
      if (received.every(({ name }) => name !== path))
        received.push(...describedFiles(await ask(request(by_name, path))))
      await add(received.find(({ name }) => name === path))
    }
    ordered.add(file)
  }
  await add(received[0])
  return [...ordered]
}

/** The files in a response of reflection, which has them in field 1 of its field 4. */
function describedFiles(response: Buffer): FileDescriptorProto[] {
  const [files = Buffer.alloc(0)] = bytesOfField(response, 4)
  return bytesOfField(files, 1).map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))
}

function bytesOfField(message: Uint8Array, wanted: number): Uint8Array[] {
  const reader = new BinaryReader(message)
  const found: Uint8Array[] = []
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === wanted) found.push(reader.bytes())
    else reader.skip(type, field)
  }
  return found
}

/** What the descriptors of Go refuse, on which grpcurl is built: relative type names, and map entries with other names. */
function linkProblems({ name: message, field: fields, nestedType: nested }: DescriptorProto): string[] {
  const maps = new Set(nested.filter(({ options }) => options?.mapEntry).map(({ name }) => name))
  const problems = fields.flatMap(({ name, typeName }) => {
    if (typeName === '') return []
    if (!typeName.startsWith('.')) return [`${message}.${name} has the type ${typeName}`]
    maps.delete(`${name.replace(/(?:^|_)([a-z0-9])/g, (_, letter) => letter.toUpperCase())}Entry`)
    return []
  })
  return [...problems, ...[...maps].map((map) => `${message}.${map} is not the entry of a field`)]
}

const known = { authorization: `Bearer ${tokenOf('gateway')}` }

describe('a server that stops and starts', () => {
  test('gives 2002 at once while it is down, and serves the first call of the same client after its restart', async () => {
    const port = await freePort()
    const first = await serve({}, port)
    const merchants = await connect(`127.0.0.1:${port}`)
    expect(await outcome(merchants.getMerchant({}))).toBe('ok')
    await first.close()
    expect(await outcome(merchants.getMerchant({}, { timeoutMs: 20_000 }))).toBe(2002)
    // Each failure makes the pauses of grpc-js between two tries longer.
    for (let tries = 0; tries < 30; tries += 1) expect(await outcome(merchants.getMerchant({}))).toBe(2002)
    await serve({}, port)
    expect(await outcome(merchants.getMerchant({}))).toBe('ok')
  })

  test('gives 2002 when it never ran', async () => {
    const merchants = await connect(`127.0.0.1:${await freePort()}`)
    expect(await outcome(merchants.getMerchant({}, { timeoutMs: 20_000 }))).toBe(2002)
  })

  test('finishes calls in progress before it closes, and closes even if sessions and streams are open', async () => {
    let finish: (() => void) | undefined
    const served = await serve({
      getMerchant: () =>
        new Promise((resolve) => (finish = () => resolve({ merchant: { merchantId: '9' } }))),
    })
    const merchants = await connect(served.address)
    const idle = await connect(served.address)
    await idle.listMerchants({})
    const raw = rawClient(served.address)
    const watched = raw.watch('/grpc.health.v1.Health/Watch', new Uint8Array())
    const browsing = raw.stream('/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', known)
    const codes: number[] = []
    for (const stream of [watched, browsing])
      stream.on('error', () => {}).on('status', ({ code }: { code: number }) => void codes.push(code))
    await new Promise((resolve) => watched.once('data', resolve))
    const in_progress = merchants.getMerchant({})
    await eventually(
      async () => finish,
      (seen) => seen !== undefined,
    )
    const closed = served.close(600_000)
    finish?.()
    expect((await in_progress).merchant?.merchantId).toBe('9')
    await closed
    expect(codes).toEqual([status.OK, status.OK])
    expect(await outcome(idle.listMerchants({}))).toBe(2002)
  })

  test('cancels calls that do not end within the grace time', async () => {
    let began = false
    const served = await serve({
      getMerchant: () => {
        began = true
        return new Promise(() => {})
      },
    })
    const merchants = await connect(served.address)
    const call = outcome(merchants.getMerchant({}, { timeoutMs: 60_000 }))
    await eventually(
      async () => began,
      (seen) => seen === true,
    )
    await served.close(50)
    expect(await call).toBe(2002)
  })

  test('names the setting to change when its port is in use', async () => {
    const served = await serve()
    await expect(serve({}, served.serving.grpc_port)).rejects.toThrow(
      /is used by another process: set MULTIHUB_GRPC_PORT/,
    )
    const connect_port = { MULTIHUB_CONNECT_PORT: String(served.serving.connect_port) }
    await expect(serveProcess([merchantService()], { config: rpcConfig(connect_port) })).rejects.toThrow(
      /is used by another process: set MULTIHUB_CONNECT_PORT/,
    )
  })
})

describe('a call by a foreign client', () => {
  test('with a malformed request id and trace is served under a new id and without the trace', async () => {
    const seen: (RequestContext | undefined)[] = []
    const served = await serve({
      async getMerchant() {
        seen.push(currentRequest())
        return {}
      },
    })
    const { unary } = rawClient(served.address)
    for (const bad of ['a b', 'x'.repeat(129), ' '])
      expect(
        (await unary(GET, new Uint8Array(), { ...known, 'x-request-id': bad, traceparent: bad })).error,
      ).toBeNull()
    const ids = seen.map((context) => context?.request_id ?? '')
    expect(ids.map(isUuid)).toEqual([true, true, true])
    expect(seen.every((context) => context?.trace === undefined)).toBe(true)
  })

  test('is refused when its bytes are not a message, its method is unknown, or it is too large', async () => {
    const served = await serve()
    const { unary } = rawClient(served.address)
    expect((await unary(GET, new Uint8Array([0x0a, 0xff]), known)).error?.code).toBe(Code.InvalidArgument)
    expect((await unary(`${GET}s`, new Uint8Array(), known)).error?.code).toBe(Code.Unimplemented)
    expect((await unary(GET, new Uint8Array(5_000_000), known)).error?.code).toBe(Code.ResourceExhausted)
  })

  test.each([
    'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
    '\0\xff'.repeat(5000),
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff',
    '',
  ])('does not harm the server when its bytes are not gRPC (%#)', async (bytes) => {
    const served = await serve()
    const socket = createConnection(served.serving.grpc_port, '127.0.0.1')
    socket.on('error', () => {})
    socket.end(bytes, 'latin1').resume()
    await new Promise((resolve) => socket.once('close', resolve))
    const merchants = await connect(served.address)
    expect(await outcome(merchants.getMerchant({}))).toBe('ok')
  })

  test('gets only the request id in the trailers when the handler has a fault', async () => {
    const served = await serve({
      async getMerchant() {
        throw new Error('the secret')
      },
    })
    const { error } = await rawClient(served.address).unary(GET, new Uint8Array(), known)
    const trailers = error?.metadata.getMap() ?? {}
    expect(isUuid(String(trailers['x-request-id']))).toBe(true)
    expect(`${error?.details} ${Object.values(trailers).join(' ')}`).not.toContain('secret')
    expect(served.lines[0]?.['request_id']).toBe(trailers['x-request-id'])
  })

  test('keeps its code when the details of a status cannot be decoded', async () => {
    const made = new Metadata()
    made.set('grpc-status-details-bin', Buffer.from([0xff, 0xff, 0xff]))
    const error = Object.assign(new Error('x'), { code: status.UNAVAILABLE, details: 'away', metadata: made })
    const read = fromGrpcStatus(error)
    expect(read).toBeInstanceOf(ConnectError)
    expect([read.code, read.rawMessage]).toEqual([Code.Unavailable, 'away'])
  })
})

/** The health status of a service; a negative code if the check failed. */
async function health(address: string, service: string): Promise<number | undefined> {
  const request = Buffer.concat([Buffer.from([0x0a, service.length]), Buffer.from(service)])
  const { error, response } = await rawClient(address).unary('/grpc.health.v1.Health/Check', request)
  return error === null ? response?.at(1) : -error.code
}

const [SERVING, NOT_SERVING] = [1, 2]

describe('health', () => {
  test('reports the state of each service of the process, and needs no token', async () => {
    const { serving, address } = await serve()
    expect(await health(address, '')).toBe(NOT_SERVING)
    expect(await health(address, MerchantService.typeName)).toBe(NOT_SERVING)
    serving.setRoleServing('merchants', true)
    expect(await health(address, MerchantService.typeName)).toBe(SERVING)
    expect(await health(address, '')).toBe(NOT_SERVING)
    serving.setServing(true)
    serving.setRoleServing('payments', true)
    serving.setRoleServing('merchants', false)
    expect(await health(address, '')).toBe(SERVING)
    expect(await health(address, MerchantService.typeName)).toBe(NOT_SERVING)
    expect(await health(address, 'no.such.Service')).toBe(-Code.NotFound)
  })
})

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`
  const ask = (address: string, request: Buffer, entries: Record<string, string>): Promise<Buffer | Code> =>
    new Promise((resolve) => {
      const stream = rawClient(address).stream(path, entries)
      stream.on('error', (error: ServiceError) => resolve(Number(error.code)))
      stream.once('data', (response: Buffer) => {
        resolve(response)
        stream.end()
      })
      stream.write(request)
    })
  const listServices = Buffer.from([0x3a, 0x01, 0x2a])

  test('needs a token', async () => {
    const { address } = await serve()
    expect(await ask(address, listServices, {})).toBe(Code.Unauthenticated)
    expect(await ask(address, listServices, { authorization: 'Bearer no' })).toBe(Code.Unauthenticated)
  })

  test('lists the services, and returns their files with all imports', async () => {
    const { address } = await serve()
    expect(String(await ask(address, listServices, known))).toContain('multihub.merchants.v1.MerchantService')
    const name = 'multihub.merchants.v1.MerchantService.GetMerchant'
    const symbol = Buffer.concat([Buffer.from([0x22, name.length]), Buffer.from(name)])
    const response = await ask(address, symbol, known)
    expect(String(response)).toContain('google/protobuf/timestamp.proto')
    expect(String(response)).toContain('multihub/merchants/v1/merchant_service.proto')
  })

  test('lists and describes the health service too', async () => {
    const { address } = await serve()
    expect(String(await ask(address, listServices, known))).toContain('grpc.health.v1.Health')
    for (const name of ['grpc.health.v1.Health', 'grpc.health.v1.Health.Check']) {
      const symbol = Buffer.concat([Buffer.from([0x22, name.length]), Buffer.from(name)])
      expect(String(await ask(address, symbol, known))).toContain('HealthCheckResponse')
    }
  })

  test('returns files that grpcurl can link: complete, with full type names and standard map entries', async () => {
    const { address } = await serve()
    for (const symbol of [
      'grpc.health.v1.Health',
      MerchantService.typeName,
      'multihub.common.v1.ErrorDetail',
    ]) {
      const files = await filesOf(symbol, async (request) => {
        const response = await ask(address, request, known)
        if (typeof response === 'number') throw new Error(`reflection failed with ${response}`)
        return response
      })
      const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [...files] }))
      expect(registry.get(symbol)?.typeName).toBe(symbol)
      expect(files.flatMap(({ messageType }) => messageType.flatMap(linkProblems))).toEqual([])
    }
  })
})
