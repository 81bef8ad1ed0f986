import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { Client, credentials, Metadata, Server, ServerCredentials } from '@grpc/grpc-js'
import {
  GetMerchantRequestSchema,
  type GetMerchantResponse,
  GetMerchantResponseSchema,
  MerchantService,
} from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { readConfig } from '#lib/base/config/config.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { clock } from '#lib/base/time.ts'
import { createRpc, type Rpc } from '#lib/rpc/rpc.ts'
import { by, rpcService } from '#lib/rpc/service.ts'
import { RPC_SETTINGS } from '#lib/rpc/settings.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf } from './rounds.ts'
import { startConnectNode } from './rpc/connect-node.ts'

const CONCURRENCY = 64
const ROUND_MS = 400
const ROUNDS = 15
const GRPC_GOAL = { ratio: 0.9 }
const TOKEN = 'bench'

type Call = () => Promise<GetMerchantResponse>

/**
 * Small unary calls, 64 at a time, with client and server in this process. `rpc.grpc` measures lib/rpc (token,
 * permission, deadline, request id, metrics) against bare grpc-js with the same messages, a token and a deadline.
 * `rpc.connect_node` and `rpc.connect_node.connect` measure it against connect-node without any of that, which shows why
 * grpc-js is used. `rpc.memory` measures a call between two roles of one process against encoding and decoding alone.
 */
export async function run(): Promise<BenchResult[]> {
  const serving = await serveOurs()
  const baseline = await serveBaseline()
  const connect_node = await startConnectNode(response)
  try {
    const grpc = await compare('rpc.grpc', serving.byGrpc, baseline.call)
    const by_grpc = await compare('rpc.connect_node', serving.byGrpc, () =>
      connect_node.grpc.getMerchant(request),
    )
    const by_connect = await compare('rpc.connect_node.connect', serving.byGrpc, () =>
      connect_node.connect.getMerchant(request),
    )
    const memory = await compare('rpc.memory', serving.inMemory, encodeOnly)
    return [{ ...grpc, goal: GRPC_GOAL }, by_grpc, by_connect, memory]
  } finally {
    await serving.close()
    baseline.close()
    connect_node.close()
  }
}

async function compare(name: string, ours: Call, baseline: Call): Promise<BenchResult> {
  const rounds = await measureAlternately(name, ROUNDS, {
    ours: () => measure(ours),
    baseline: () => measure(baseline),
  })
  return { name, ...medianOf(rounds, (rate) => rate), unit: 'calls/CPU s' }
}

/**
 * Calls per second of processor time. Client and server are in this process and keep it busy, so on an idle machine this
 * is the rate. On a busy machine, the processor time of other processes does not count.
 */
async function measure(call: Call): Promise<number> {
  const before = process.cpuUsage()
  const end_ms = clock.monotonic_ms() + ROUND_MS
  let calls = 0
  const worker = async (): Promise<void> => {
    while (clock.monotonic_ms() < end_ms) {
      await call()
      calls += 1
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  const { user, system } = process.cpuUsage(before)
  return Math.round((calls * 1_000_000) / (user + system))
}

const request = { merchantId: '1000000000000042' }
const response: MessageInitShape<typeof GetMerchantResponseSchema> = {
  merchant: { ...request, name: 'A merchant', timezone: 'Asia/Kolkata', environments: [1, 2] },
}

async function serveOurs(): Promise<{ byGrpc: Call; inMemory: Call; close: () => Promise<void> }> {
  const server = await createRpc(
    readConfig(RPC_SETTINGS, {
      MULTIHUB_GRPC_PORT: '0',
      MULTIHUB_CONNECT_PORT: '0',
      MULTIHUB_RPC_CALLERS: `gateway:${sha256Hex(TOKEN)}`,
    }),
  )
  server.add([merchantService()])
  const serving = await server.serve()
  const address = `127.0.0.1:${serving.grpc_port}`
  const client: Rpc = await createRpc(
    readConfig(RPC_SETTINGS, { MULTIHUB_MERCHANTS_ADDRESS: address, MULTIHUB_RPC_TOKEN: TOKEN }),
  )
  const remote = client.clientsOf('gateway')(MerchantService)
  const local = server.clientsOf('gateway')(MerchantService)
  return {
    byGrpc: () => remote.getMerchant(request),
    inMemory: () => local.getMerchant(request),
    async close() {
      client.close()
      await serving.close(1000)
      server.close()
    },
  }
}

function merchantService() {
  return rpcService(MerchantService, {
    createMerchant: by([], async () => ({})),
    getMerchant: by(['gateway'], async () => response),
    listMerchants: by([], async () => ({})),
    updateMerchant: by([], async () => ({})),
  })
}

async function serveBaseline(): Promise<{ call: Call; close: () => void }> {
  const server = new Server()
  const definition = {
    path: `/${MerchantService.typeName}/GetMerchant`,
    requestStream: false,
    responseStream: false,
    requestSerialize: encodeRequest,
    requestDeserialize: (bytes: Buffer) => fromBinary(GetMerchantRequestSchema, bytes),
    responseSerialize: encodeResponse,
    responseDeserialize: decodeResponse,
  } as const
  server.addService(
    { getMerchant: definition },
    {
      getMerchant: (_call: unknown, callback: (error: null, message: GetMerchantResponse) => void) =>
        callback(null, create(GetMerchantResponseSchema, response)),
    },
  )
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  const call: Call = () =>
    new Promise((resolve, reject) => {
      const message = create(GetMerchantRequestSchema, request)
      const metadata = new Metadata()
      metadata.set('authorization', `Bearer ${TOKEN}`)
      const options = { deadline: clock.now_ms() + 10_000 }
      const { path } = definition
      client.makeUnaryRequest(
        path,
        encodeRequest,
        decodeResponse,
        message,
        metadata,
        options,
        (error, reply) => {
          if (error === null && reply !== undefined) resolve(reply)
          else reject(error ?? new Error('the server sent no response'))
        },
      )
    })
  return {
    call,
    close() {
      client.close()
      server.forceShutdown()
    },
  }
}

function encodeRequest(message: ReturnType<typeof create<typeof GetMerchantRequestSchema>>): Buffer {
  const bytes = toBinary(GetMerchantRequestSchema, message)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function encodeResponse(message: GetMerchantResponse): Buffer {
  const bytes = toBinary(GetMerchantResponseSchema, message)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function decodeResponse(bytes: Uint8Array): GetMerchantResponse {
  return fromBinary(GetMerchantResponseSchema, bytes)
}

async function encodeOnly(): Promise<GetMerchantResponse> {
  const bytes = encodeRequest(create(GetMerchantRequestSchema, request))
  fromBinary(GetMerchantRequestSchema, bytes)
  return decodeResponse(encodeResponse(create(GetMerchantResponseSchema, response)))
}
