import {
  type Client,
  createClient,
  type Interceptor,
  type ServiceImpl,
  type Transport,
} from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { readConfig } from '#lib/base/config/config.ts'
import { currentRequest } from '#lib/base/context.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { formatTrace } from '#lib/base/trace.ts'
import { fromConnectError } from '#lib/rpc/errors.ts'
import { createRpc, type Rpc, type ServingRpc } from '#lib/rpc/rpc.ts'
import { by, type CallerName, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { RPC_SETTINGS, type RpcConfig } from '#lib/rpc/settings.ts'
import { createLog, type Log } from '#lib/telemetry/log.ts'

/** The token of a caller in these tests. */
export const tokenOf = (caller: CallerName): string => `token-of-${caller}-0123456789abcdef`

/** Settings of a process on free ports that permits the gateway, payments and the operator by their tokens. */
export function rpcConfig(variables: Readonly<Record<string, string>> = {}): RpcConfig {
  const callers = (['gateway', 'payments', 'backoffice'] as const).map(
    (name) => `${name}:${sha256Hex(tokenOf(name))}`,
  )
  return readConfig(RPC_SETTINGS, {
    MULTIHUB_GRPC_PORT: '0',
    MULTIHUB_CONNECT_PORT: '0',
    MULTIHUB_RPC_CALLERS: callers.join(','),
    ...variables,
  })
}

/** A log that records its lines as parsed JSON. */
export function recordingLog(): {
  readonly log: Log
  readonly lines: readonly Readonly<Record<string, unknown>>[]
} {
  const lines: Record<string, unknown>[] = []
  const writer = { write: (line: string) => void lines.push(JSON.parse(line)) }
  return { log: createLog(undefined, { level: 'debug', writer }), lines }
}

/** The merchant service with the given methods. Gateway and payments may call all but UpdateMerchant, which no caller may. */
export function merchantService(methods: Partial<ServiceImpl<typeof MerchantService>> = {}): RpcService {
  const { createMerchant, getMerchant, listMerchants, updateMerchant } = {
    createMerchant: async ({ name }) => ({ merchant: { merchantId: '1', name } }),
    getMerchant: async ({ merchantId }) => ({ merchant: { merchantId } }),
    listMerchants: async () => ({}),
    updateMerchant: async () => ({}),
    ...methods,
  } satisfies ServiceImpl<typeof MerchantService>
  const callers: readonly CallerName[] = ['gateway', 'payments']
  return rpcService(MerchantService, {
    createMerchant: by(callers, createMerchant),
    getMerchant: by(callers, getMerchant),
    listMerchants: by(callers, listMerchants),
    updateMerchant: by([], updateMerchant),
  })
}

/** A served process with its ports. */
export interface TestProcess {
  readonly rpc: Rpc
  readonly serving: ServingRpc
  close(grace_ms?: number): Promise<void>
}

/** Serves services on free ports, like a process. */
export async function serveProcess(
  services: readonly RpcService[],
  options: { config?: RpcConfig; log?: Log; draining?: AbortSignal; tls_reload_ms?: number } = {},
): Promise<TestProcess> {
  const rpc = await createRpc(options.config ?? rpcConfig(), options.log, options.tls_reload_ms)
  rpc.add(services)
  const serving = await rpc.serve(options.draining)
  return {
    rpc,
    serving,
    async close(grace_ms = 500) {
      await serving.close(grace_ms)
      rpc.close()
    },
  }
}

/** A client of the merchant service. */
export interface TestClient {
  readonly merchants: Client<typeof MerchantService>
  close(): void
}

/** The transports over which a service can be called. */
export const TRANSPORTS = ['memory', 'grpc', 'connect', 'grpc-web'] as const

/** Makes a client over one of the transports. `token` is sent on all but `memory`; by default it is the token of `caller`. */
export async function clientBy(
  transport_name: (typeof TRANSPORTS)[number],
  { rpc, serving }: TestProcess,
  caller: CallerName,
  token: string | undefined = tokenOf(caller),
): Promise<TestClient> {
  if (transport_name === 'memory')
    return { merchants: rpc.clientsOf(caller)(MerchantService), close: () => {} }
  if (transport_name === 'grpc') return grpcClient(`127.0.0.1:${serving.grpc_port}`, token)
  const options = {
    baseUrl: `http://127.0.0.1:${serving.connect_port}`,
    httpVersion: '1.1' as const,
    interceptors: [withRequestContext(token)],
  }
  const transport =
    transport_name === 'connect' ? createConnectTransport(options) : createGrpcWebTransport(options)
  return { merchants: createClient(MerchantService, withTranslatedErrors(transport)), close: () => {} }
}

/** A client with a connection of its own, as in another process. */
export async function grpcClient(address: string, token: string | undefined): Promise<TestClient> {
  const variables = { MULTIHUB_MERCHANTS_ADDRESS: address, ...(token && { MULTIHUB_RPC_TOKEN: token }) }
  const other = await createRpc(readConfig(RPC_SETTINGS, variables))
  return { merchants: other.clientsOf('gateway')(MerchantService), close: () => other.close() }
}

/** Sends the token, the request id and the trace, as our own transports do. */
function withRequestContext(token: string | undefined): Interceptor {
  return (next) => (request) => {
    if (token !== undefined) request.header.set('authorization', `Bearer ${token}`)
    const context = currentRequest()
    if (context?.request_id !== undefined) request.header.set('x-request-id', context.request_id)
    if (context?.trace !== undefined) request.header.set('traceparent', formatTrace(context.trace))
    return next(request)
  }
}

/** Throws errors as our own transports do. */
function withTranslatedErrors(transport: Transport): Transport {
  return {
    unary: (...call) =>
      transport.unary(...call).catch((error: unknown) => {
        throw fromConnectError(error)
      }),
    stream: (...call) => transport.stream(...call),
  }
}
