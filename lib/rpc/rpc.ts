import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { type Client, createClient, type Transport } from '@connectrpc/connect'
import { logVerbosity, setLogger, setLogVerbosity } from '@grpc/grpc-js'
import { ConfigError } from '#lib/base/config/config.ts'
import { openTls, TLS_RELOAD_MS, type Tls } from '#lib/http/tls.ts'
import { type Log, log as processLog } from '#lib/telemetry/log.ts'
import { createOutgoingConnections } from './client/connections.ts'
import { createMemoryTransport } from './client/memory-transport.ts'
import { createCallerAuthenticator } from './credentials.ts'
import { serveConnect } from './server/connect-server.ts'
import { createDispatcher, type RpcEndpoint } from './server/dispatch.ts'
import { serveGrpc } from './server/grpc-server.ts'
import { type CallerName, type RpcService, roleOf } from './service.ts'
import { addressesOf, type RpcConfig } from './settings.ts'

/** Sends the errors of grpc-js to our log instead of the console. grpc-js has one logger per process. */
function logGrpc(log: Log): void {
  const write = (...texts: readonly unknown[]): void =>
    log.warn({ part: 'grpc', error: texts.map(String).join(' ') }, 'gRPC library message')
  setLogger({ error: write })
  setLogVerbosity(logVerbosity.ERROR)
}

/** Returns typed clients of services. A failed call throws `PublicError`, over every transport. */
export type ClientOf = <S extends DescService>(service: S) => Client<S>

/** The open ports of a process. */
export type ServingRpc = Awaited<ReturnType<typeof openPorts>>

/** The RPC layer of a process: the services that it serves, and the clients of its roles. */
export interface Rpc {
  /** The TLS material for connections between processes; `undefined` means plain text. */
  readonly tls: Tls | undefined
  /** Adds the services of a started role, which the other roles of this process can call from then on. */
  add(services: readonly RpcService[]): void
  /** The clients of one role: in memory for services of this process, otherwise over gRPC to the role's address. */
  clientsOf(caller: CallerName): ClientOf
  /** Clients of the process at one address, for a caller that must reach a specific process of a role. */
  clientsAt(address: string): ClientOf
  /**
   * Opens the ports for all services added so far. Throws `ConfigError` when a needed service has no address. From the
   * abort of `draining` on, calls are still taken, but health says "not serving" and connections end soon (R5).
   */
  serve(draining?: AbortSignal): Promise<ServingRpc>
  /** Closes the connections to other processes and stops reloading the TLS files. */
  close(): void
}

/**
 * Creates the RPC layer of a process. It reads the TLS files, if configured, now and again every `tls_reload_ms`, which
 * tests shorten.
 */
export async function createRpc(
  config: RpcConfig,
  log: Log = processLog,
  tls_reload_ms: number = TLS_RELOAD_MS,
): Promise<Rpc> {
  logGrpc(log)
  const { tls_key: key, tls_certificate: certificate, tls_ca: ca } = config
  const tls = await openTls({ key, certificate, ca }, log, tls_reload_ms)
  if (config.certificates.length > 0 && ca === undefined)
    throw new ConfigError([
      'MULTIHUB_RPC_CERTIFICATES needs MULTIHUB_TLS_CA: clients are asked for a certificate only with it',
    ])
  const authenticate = createCallerAuthenticator(config.callers, config.certificates)
  const dispatch = createDispatcher(authenticate, log)
  const connections = createOutgoingConnections(config.token, tls)
  const addresses = addressesOf(config)
  const services: RpcService[] = []
  const endpoints = new Map<DescMethod, RpcEndpoint>()
  const wanted = new Set<DescService>()

  const isLocal = (service: DescService): boolean => services.some(({ descriptor }) => descriptor === service)
  const remote = (service: DescService): Transport => {
    const address = addresses.get(roleOf(service))
    if (address === undefined) throw new ConfigError([missingAddress(service)])
    return connections.to(address)
  }
  return {
    tls,
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
    async serve(draining) {
      const problems = [...wanted]
        .filter((service) => !isLocal(service) && !addresses.has(roleOf(service)))
        .map(missingAddress)
      if (problems.length > 0) throw new ConfigError(problems)
      const { host } = config
      const shared = { host, endpoints: [...endpoints.values()], authenticate, tls, draining }
      return openPorts(config, services, shared)
    },
    close() {
      connections.close()
      tls?.close()
    },
  }
}

async function openPorts(
  { grpc_port, connect_port }: RpcConfig,
  services: readonly RpcService[],
  shared: Omit<Parameters<typeof serveGrpc>[0], 'port'>,
) {
  const grpc = await serveGrpc({ ...shared, port: grpc_port })
  const connect = await serveConnect({ ...shared, port: connect_port }).catch(async (error: unknown) => {
    await grpc.close(0)
    throw error
  })
  return {
    grpc_port: grpc.port,
    connect_port: connect.port,
    /** Sets the gRPC health status of the services of one role. It starts as not serving. */
    setRoleServing(role: string, serving: boolean) {
      const own = services.filter(({ descriptor }) => roleOf(descriptor) === role)
      for (const { descriptor } of own) grpc.setServing(descriptor.typeName, serving)
    },
    /** Sets the gRPC health status of the whole process. */
    setServing: (serving: boolean) => grpc.setServing('', serving),
    /** Accepts no new call, gives calls in progress at most `grace_ms` to end, then closes all connections. */
    async close(grace_ms: number) {
      await Promise.all([grpc.close(grace_ms), connect.close(grace_ms)])
    },
  }
}

function missingAddress(service: DescService): string {
  const role = roleOf(service)
  return `MULTIHUB_${role.toUpperCase()}_ADDRESS is missing: this process calls ${service.typeName} but does not run its role`
}

/** A transport that is chosen at the first call, because roles create clients before the roles they call start. */
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
