import { Writable } from 'node:stream'
import { type DescFile, type DescService, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Code } from '@connectrpc/connect'
import type { Server, ServerUnaryCall, UntypedHandleCall } from '@grpc/grpc-js'
import { ReflectionService } from '@grpc/reflection'
import { HealthImplementation } from 'grpc-health-check'
import { Health } from '#gen/grpc/health/v1/health_pb.ts'
import { ErrorDetailSchema } from '#gen/multihub/common/v1/error_pb.ts'
import type { AuthenticateCaller } from '../credentials.ts'
import { RpcStatusError, toCallerError, toGrpcStatus } from '../errors.ts'
import { callCredentialsOf } from './grpc-incoming.ts'

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0]

/** Adds health and reflection to a server. Every health status starts as "not serving", because readiness is unknown. */
export function addHealthAndReflection(
  server: Server,
  services: readonly DescService[],
  authenticate: AuthenticateCaller,
) {
  const names = services.map(({ typeName }) => typeName)
  const statuses = ['', ...names].map((name) => [name, 'NOT_SERVING'] as const)
  const health = new HealthImplementation(Object.fromEntries(statuses))
  const reflection = new ReflectionService(definitionOf(services), { services: [...names, Health.typeName] })
  const open = new Set<Writable>()
  const known = (call: SideCall): boolean =>
    authenticate(callCredentialsOf(call.metadata, call)) !== undefined
  health.addToServer(guarded(server, open, () => true))
  reflection.addToServer(guarded(server, open, known))
  return {
    /** Sets the health status of a service; the empty name means the whole process. */
    setServing: (service: string, serving: boolean) =>
      health.setStatus(service, serving ? 'SERVING' : 'NOT_SERVING'),
    /** Ends the streams of clients that watch health or use reflection, so that they keep no connection open. */
    end() {
      for (const stream of open) stream.end()
    },
  }
}

type SideCall = ServerUnaryCall<unknown, unknown>

/** A view of the server that checks the caller before each handler and keeps a list of open streams. */
function guarded(
  server: Server,
  open: Set<Writable>,
  admits: (call: SideCall) => boolean,
): Pick<Server, 'addService'> {
  const wrap =
    (handler: UntypedHandleCall) =>
    (call: SideCall, ...rest: readonly unknown[]): void => {
      if (!admits(call)) {
        call.emit(
          'error',
          toGrpcStatus(
            toCallerError(
              new RpcStatusError(
                Code.Unauthenticated,
                'reflection needs a known token or client certificate',
              ),
            ),
          ),
        )
        return
      }
      if (call instanceof Writable) {
        open.add(call)
        call.once('close', () => open.delete(call))
      }
      Reflect.apply(handler, undefined, [call, ...rest])
    }
  return {
    addService(definition, implementation) {
      const handlers = Object.entries(implementation).map(([name, handler]) => [name, wrap(handler)] as const)
      server.addService(definition, Object.fromEntries(handlers))
    },
  }
}

/**
 * The descriptors that reflection serves, all from the generated code: the files of the services with their imports, that
 * of `ErrorDetail`, so that tools can show error codes, and that of the health service. The descriptor in the package of
 * the health service cannot be linked: its type names are relative, and its map entry has no standard name.
 */
function definitionOf(services: readonly DescService[]): PackageDefinition {
  const files = new Set<DescFile>()
  const add = (file: DescFile): void => {
    if (files.has(file)) return
    files.add(file)
    file.dependencies.forEach(add)
  }
  for (const { file } of [...services, ErrorDetailSchema, Health]) add(file)
  return {
    all: {
      format: 'Protocol Buffer 3 EnumDescriptorProto',
      type: {},
      fileDescriptorProtos: [...files].map((file) =>
        Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)),
      ),
    },
  }
}
