import { type DescMethod, fromBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import type { ServiceError } from '@grpc/grpc-js'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { CreatePaymentRequestSchema, PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { createMemoryTransport } from '#lib/rpc/client/memory-transport.ts'
import { createUnaryTransport, type OutgoingCall } from '#lib/rpc/client/unary-transport.ts'
import { fromGrpcStatus, toGrpcStatus } from '#lib/rpc/errors.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { createDispatcher, type RpcEndpoint } from '#lib/rpc/server/dispatch.ts'
import { type CallerName, type RpcService, roleOf } from '#lib/rpc/service.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Partitions } from '../partitions.ts'
import type { Choices } from '../random.ts'
import type { Machine, SimulatedProcess } from '../simulated-process.ts'
import type { Trace } from '../trace.ts'

/** What can go wrong with calls between processes, as probabilities. */
export interface RpcFaults {
  lost_request: number
  lost_response: number
  /** A request arrives again, at the same process or at another one. The second response is lost. */
  repeated: number
  late: number
  late_max_ms: number
}

/** The RPC port of one process. */
export interface RpcPort {
  readonly address: string
  /** Load balancers send calls only to processes that say that they are ready. */
  setReady(ready: boolean): void
  add(services: readonly RpcService[]): void
  /** Clients for a role of this process. Services of the same process are called in memory. */
  clientsOf(caller: CallerName): ClientOf
  clientsAt(caller: CallerName, address: string): ClientOf
  /** Ends the port. Most callers see a broken connection; the others get no response. */
  close(): void
}

/** Carries calls between simulated processes. */
export interface RpcNetwork {
  readonly faults: RpcFaults
  open(process: SimulatedProcess, address: string): RpcPort
  /** Clients outside every process, with the rights of a caller. */
  outside(caller: CallerName): ClientOf
}

interface ServingPort extends RpcPort {
  readonly process: SimulatedProcess
  readonly endpoints: ReadonlyMap<DescMethod, RpcEndpoint>
  /** How to break the connections of the calls in progress. */
  readonly breaks: Set<() => void>
  isReady(): boolean
}

/** The network as one call uses it. */
interface CallNetwork {
  readonly machine: Machine
  readonly choices: Choices
  readonly trace: Trace
  readonly faults: RpcFaults
  readonly partitions: Pick<Partitions, 'isCut'>
  /** The ports that are open. */
  readonly ports: Set<ServingPort>
}

/** The probability that a client notices at once that a connection is broken. */
const NOTICED = 0.7

/** Makes a network without faults. */
export function createRpcNetwork(
  machine: Machine,
  choices: Choices,
  trace: Trace,
  partitions: Pick<Partitions, 'isCut'>,
): RpcNetwork {
  const faults: RpcFaults = { lost_request: 0, lost_response: 0, repeated: 0, late: 0, late_max_ms: 0 }
  const network: CallNetwork = { machine, choices, trace, faults, partitions, ports: new Set() }
  return {
    faults,
    outside: (caller) => clients(network, caller),
    open(process, address) {
      const port = openPort(network, process, address)
      network.ports.add(port)
      return port
    },
  }
}

function openPort(network: CallNetwork, process: SimulatedProcess, address: string): ServingPort {
  const endpoints = new Map<DescMethod, RpcEndpoint>()
  const dispatch = createDispatcher(() => undefined, log)
  const breaks = new Set<() => void>()
  let is_ready = false
  const port: ServingPort = {
    address,
    process,
    endpoints,
    breaks,
    isReady: () => is_ready,
    setReady(ready) {
      is_ready = ready
    },
    add(services) {
      for (const endpoint of services.flatMap(dispatch)) endpoints.set(endpoint.method, endpoint)
    },
    clientsOf(caller) {
      const memory = createMemoryTransport(caller, (method) => endpoints.get(method))
      return clients(network, caller, { inMemory: (method) => (endpoints.has(method) ? memory : undefined) })
    },
    clientsAt: (caller, other) => clients(network, caller, { address: other }),
    close() {
      network.ports.delete(port)
      for (const breakConnection of breaks) breakConnection()
    },
  }
  return port
}

/** Which process the calls of a client go to: any that serves the method, unless one is named. */
interface Target {
  readonly address?: string
  readonly inMemory?: (method: DescMethod) => Transport | undefined
}

function clients(network: CallNetwork, caller: CallerName, { address, inMemory }: Target = {}): ClientOf {
  const remote = createUnaryTransport((call) => send(network, caller, address, call))
  return (service) =>
    createClient(service, {
      unary: (method, ...rest) => (inMemory?.(method) ?? remote).unary(method, ...rest),
      stream: remote.stream,
    })
}

/** A port that serves a method, of a ready process if there is any. */
function choosePort(
  { ports, choices }: CallNetwork,
  method: DescMethod,
  address: string | undefined,
): ServingPort | undefined {
  const serving = [...ports].filter(
    (port) => port.endpoints.has(method) && (address === undefined || port.address === address),
  )
  const ready = serving.filter((port) => port.isReady())
  return serving.length === 0 ? undefined : choices.pick(ready.length > 0 ? ready : serving)
}

function send(
  network: CallNetwork,
  caller: CallerName,
  address: string | undefined,
  call: OutgoingCall,
): Promise<Uint8Array> {
  const { machine, choices, trace, faults, partitions } = network
  const { method } = call
  const client = machine.current()
  const port = choosePort(network, method, address)
  const name = `rpc ${client?.name ?? caller} to ${port?.address ?? address ?? roleOf(method.parent)} ${method.name}`
  const later = (process: SimulatedProcess | undefined, action: () => void): void => {
    const delay_ms = choices.chance(faults.late)
      ? choices.between(1, faults.late_max_ms)
      : choices.between(0.05, 0.5)
    machine.schedule(process, machine.scheduler.now_ms() + delay_ms, action)
  }
  trace.add(name)
  return new Promise((resolve, reject) => {
    const cancel_listeners: (() => void)[] = []
    let is_settled = false
    const settle = (outcome: string, finish: () => void): void => {
      if (is_settled) return
      is_settled = true
      deadline.cancel()
      port?.breaks.delete(breakConnection)
      trace.add(`${name}: ${outcome}`)
      finish()
    }
    const fail = (code: Code, reason: string): void =>
      settle(reason, () => reject(new ConnectError(reason, code)))
    /** The client no longer waits. The server learns of it later. */
    const abandon = (code: Code, reason: string): void => {
      fail(code, reason)
      for (const listener of cancel_listeners) later(port?.process, listener)
    }
    const breakConnection = (): void => {
      if (choices.chance(NOTICED)) later(client, () => fail(Code.Unavailable, 'connection broken'))
    }
    const deadline = machine.schedule(client, machine.scheduler.now_ms() + call.timeout_ms, () =>
      abandon(Code.DeadlineExceeded, 'deadline'),
    )
    call.signal?.addEventListener('abort', () => abandon(Code.Canceled, 'cancelled'), { once: true })
    if (port === undefined) return later(client, () => fail(Code.Unavailable, 'no connection'))
    port.breaks.add(breakConnection)
    // The client waits until its deadline.
    if (partitions.isCut(client, port.process)) return
    const request = call.request.slice()
    if (choices.chance(faults.repeated)) repeat(network, caller, address, { ...call, request })
    if (choices.chance(faults.lost_request)) return breakConnection()
    const respond = (outcome: string, finish: () => void): void => {
      if (partitions.isCut(port.process, client)) return
      if (choices.chance(faults.lost_response)) breakConnection()
      else later(client, () => settle(outcome, finish))
    }
    later(port.process, () => {
      const onCancelled = (listener: () => void): void => void cancel_listeners.push(listener)
      serve(port, caller, { ...call, request }, onCancelled).then(
        (bytes) => respond('ok', () => resolve(bytes)),
        (error: ConnectError) => respond(Code[error.code], () => reject(overGrpc(error))),
      )
    })
  })
}

/**
 * Delivers a request again, later than the first time. Not that for a withdrawal: when the first one is refused, its `c_id`
 * is free again, and nothing distinguishes a late copy from a merchant's next request (P14).
 */
function repeat(
  network: CallNetwork,
  caller: CallerName,
  address: string | undefined,
  call: OutgoingCall,
): void {
  const { machine, choices, trace } = network
  const { method, request } = call
  if (method === PaymentService.method.createPayment) {
    const { direction } = fromBinary(CreatePaymentRequestSchema, request)
    if (direction === Direction.OUT) return
  }
  const port = choosePort(network, method, address)
  if (port === undefined) return
  const at_ms = machine.scheduler.now_ms() + choices.between(1, choices.pick([5, 100, 2_000]))
  machine.schedule(port.process, at_ms, () => {
    trace.add(`rpc ${caller} to ${port.address} ${method.name}: again`)
    serve(port, caller, call, () => {}).catch(() => {})
  })
}

/** Serves a call as code of the process of the port. Rejects with the `ConnectError` for the client. */
async function serve(
  { endpoints }: ServingPort,
  caller: CallerName,
  call: OutgoingCall,
  onCancelled: (listener: () => void) => void,
): Promise<Uint8Array> {
  const { method, request, headers, timeout_ms } = call
  const endpoint = endpoints.get(method)
  if (endpoint === undefined) throw new ConnectError('not served', Code.Unimplemented)
  const { bytes } = await endpoint.call({
    protocol: 'grpc',
    caller,
    header: (name) => headers.get(name),
    headers: () => new Headers([...headers]),
    timeout_ms,
    onCancelled,
    request: () => fromBinary(method.input, request),
  })
  return bytes
}

/** The error as it arrives at a client of gRPC. */
function overGrpc(error: ConnectError): ConnectError {
  // A client gets the same fields that the server sends.
  return fromGrpcStatus(toGrpcStatus(error) as ServiceError)
}
