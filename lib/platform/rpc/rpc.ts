import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { type Client, createClient, type Transport } from '@connectrpc/connect'
import { ConfigError } from '#lib/platform/config/config.ts'
import { type Log, log as processLog } from '#lib/platform/telemetry/log.ts'
import { createCallerAuthenticator } from './authenticate.ts'
import { type PlainRoutes, serveConnect } from './connect-server.ts'
import { createOutgoingConnections } from './connections.ts'
import { createDispatcher, type Endpoint } from './dispatch.ts'
import { logGrpc } from './grpc-log.ts'
import { serveGrpc } from './grpc-server.ts'
import { createMemoryTransport } from './memory-transport.ts'
import { type CallerName, type RpcService, roleOf } from './service.ts'
import { addressesOf, type RpcConfig } from './settings.ts'
import { openTls, TLS_RELOAD_MS } from './tls.ts'

/** Gives typed clients of services. A call that fails throws `PublicError`, whichever way it went. */
export type ClientOf = <S extends DescService>(service: S) => Client<S>

/** The open ports of a process. */
export interface ServingRpc {
  readonly grpc_port: number
  readonly connect_port: number
  /** What the gRPC health service says of the services of one role. They begin as not serving. */
  setRoleServing(role: string, serving: boolean): void
  /** What it says of the process as a whole. */
  setServing(serving: boolean): void
  /** Takes no new call, lets those under way end for at most `grace_ms`, then cuts every connection. */
  close(grace_ms: number): Promise<void>
}

/** All of RPC in one process: what it serves, and how its roles call each other and other processes. */
export interface Rpc {
  /** Makes the services of a role that has started callable by the other roles of this process. */
  add(services: readonly RpcService[]): void
  /** The clients of one role: in memory when the service is in this process, else over gRPC to its role's address. */
  clientsOf(caller: CallerName): ClientOf
  /** Clients of whatever serves at one address, for who must reach a certain process of a role. */
  clientsAt(address: string): ClientOf
  /** Opens the ports for all services added so far. Throws `ConfigError` when a client in use has nowhere to go. */
  serve(routes: PlainRoutes): Promise<ServingRpc>
  /** Closes the connections to other processes, and looks at the TLS files no more. */
  close(): void
}

/**
 * Sets up the RPC of a process. The key and certificates, when there are any, are read here, and again every
 * `tls_look_ms` (tests shorten it).
 */
export async function createRpc(
  config: RpcConfig,
  log: Log = processLog,
  tls_look_ms: number = TLS_RELOAD_MS,
): Promise<Rpc> {
  logGrpc(log)
  const { tls_key: key, tls_certificate: certificate, tls_authority: authority } = config
  const tls = await openTls({ key, certificate, authority }, log, tls_look_ms)
  if (config.certificates.length > 0 && authority === undefined)
    throw new ConfigError([
      'MULTIHUB_RPC_CERTIFICATES needs MULTIHUB_TLS_CA: nobody is asked for a certificate without',
    ])
  const authenticate = createCallerAuthenticator(config.callers, config.certificates)
  const dispatch = createDispatcher(authenticate, log)
  const connections = createOutgoingConnections(config.token, tls)
  const addresses = addressesOf(config)
  const services: RpcService[] = []
  const endpoints = new Map<DescMethod, Endpoint>()
  const wanted = new Set<DescService>()

  const isLocal = (service: DescService): boolean => services.some(({ descriptor }) => descriptor === service)
  const remote = (service: DescService): Transport => {
    const address = addresses.get(roleOf(service))
    if (address === undefined) throw new ConfigError([missingAddress(service)])
    return connections.to(address)
  }
  return {
    add(added) {
      for (const endpoint of added.flatMap(dispatch)) endpoints.set(endpoint.method, endpoint)
      services.push(...added)
    },
    clientsOf(caller) {
      const memory = createMemoryTransport(caller, (method) => endpoints.get(method))
      return (service) => {
        wanted.add(service)
        return createClient(
          service,
          lazyTransport(() => (isLocal(service) ? memory : remote(service))),
        )
      }
    },
    clientsAt: (address) => (service) => createClient(service, connections.to(address)),
    async serve(routes) {
      const problems = [...wanted]
        .filter((service) => !isLocal(service) && !addresses.has(roleOf(service)))
        .map(missingAddress)
      if (problems.length > 0) throw new ConfigError(problems)
      const { host } = config
      const shared = { host, endpoints: [...endpoints.values()], authenticate, tls }
      const grpc = await serveGrpc({ ...shared, port: config.grpc_port })
      const connect = await serveConnect({ ...shared, port: config.connect_port, routes }).catch(
        async (error: unknown) => {
          await grpc.close(0)
          throw error
        },
      )
      return {
        grpc_port: grpc.port,
        connect_port: connect.port,
        setRoleServing(role, serving) {
          const own = services.filter(({ descriptor }) => roleOf(descriptor) === role)
          for (const { descriptor } of own) grpc.setServing(descriptor.typeName, serving)
        },
        setServing: (serving) => grpc.setServing('', serving),
        async close(grace_ms) {
          await Promise.all([grpc.close(grace_ms), connect.close(grace_ms)])
        },
      }
    },
    close() {
      connections.close()
      tls?.close()
    },
  }
}

function missingAddress(service: DescService): string {
  const role = roleOf(service)
  return `MULTIHUB_${role.toUpperCase()}_ADDRESS is missing: ${service.typeName} is called and not in this process`
}

/** A transport that is chosen at the first call: roles ask for clients before the roles they call have started. */
function lazyTransport(choose: () => Transport): Transport {
  let chosen: Transport | undefined
  const transport = (): Transport => {
    chosen ??= choose()
    return chosen
  }
  return {
    unary: (...call) => transport().unary(...call),
    stream: (...call) => transport().stream(...call),
  }
}
