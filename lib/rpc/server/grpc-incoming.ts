import { fromBinary } from '@bufbuild/protobuf'
import type { Metadata, ServerInterceptingCallInterface, ServerUnaryCall } from '@grpc/grpc-js'
import { clock } from '#lib/base/time.ts'
import type { CallCredentials } from '../credentials.ts'
import type { RpcEndpoint } from './dispatch.ts'
import type { CallHead, IncomingCall } from './incoming.ts'

type Connection = Pick<ServerInterceptingCallInterface, 'getAuthContext' | 'getDeadline'>

/** The credentials of a gRPC call. */
export function callCredentialsOf(
  metadata: Metadata,
  connection: Pick<Connection, 'getAuthContext'>,
): CallCredentials {
  return {
    authorization: textOf(metadata, 'authorization'),
    certificate: () => connection.getAuthContext().sslPeerCertificate,
  }
}

/** The head of a gRPC call whose message was not read yet. It is judged at once, so it has no end to report. */
export function grpcCallHead(metadata: Metadata, connection: Connection): CallHead {
  return {
    protocol: 'grpc',
    caller: callCredentialsOf(metadata, connection),
    header: (name) => textOf(metadata, name),
    headers: () => headersOf(metadata),
    timeout_ms: timeoutOf(connection.getDeadline()),
    onCancelled: () => {},
  }
}

/** A gRPC call in the form that the dispatcher takes. */
export function grpcIncoming(
  call: ServerUnaryCall<Uint8Array, Uint8Array>,
  { method }: RpcEndpoint,
): IncomingCall {
  return {
    ...grpcCallHead(call.metadata, call),
    onCancelled: (listener) => call.on('cancelled', listener),
    request: () => fromBinary(method.input, call.request),
  }
}

function textOf(metadata: Metadata, name: string): string | undefined {
  const [value] = metadata.get(name)
  return typeof value === 'string' ? value : undefined
}

/** grpc-js gives deadlines on the wall clock, and infinity when the caller set none. */
function timeoutOf(deadline: Date | number): number | undefined {
  const at_ms = deadline instanceof Date ? deadline.getTime() : deadline
  return Number.isFinite(at_ms) ? at_ms - clock.now_ms() : undefined
}

function headersOf(metadata: Metadata): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(metadata.getMap())) headers.set(name, value.toString())
  return headers
}
