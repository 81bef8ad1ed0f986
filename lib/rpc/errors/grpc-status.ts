import { Code, ConnectError } from '@connectrpc/connect'
import { findTrailerError, setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js'

const DETAILS = 'grpc-status-details-bin'

/** Converts an error for a grpc-js server. Typed details become a `google.rpc.Status` in the trailers. */
export function toGrpcStatus(error: ConnectError): StatusObject {
  const metadata = new Metadata()
  error.metadata.forEach((value, name) => {
    metadata.set(name, value)
  })
  const encoded = setTrailerStatus(new Headers(), error).get(DETAILS)
  if (encoded !== null) metadata.set(DETAILS, Buffer.from(encoded, 'base64'))
  return { code: Number(error.code), details: error.rawMessage, metadata }
}

/** Converts the error of a grpc-js client to a `ConnectError` with its typed details, if they can be decoded. */
export function fromGrpcStatus({ code, details, metadata }: ServiceError): ConnectError {
  const [encoded] = metadata.get(DETAILS)
  const status: Code = code in Code ? Number(code) : Code.Unknown
  if (encoded instanceof Buffer) {
    try {
      const found = findTrailerError(new Headers({ [DETAILS]: encoded.toString('base64') }))
      if (found !== undefined) return found
    } catch {
      // Details that cannot be decoded are dropped; the plain status is still there.
    }
  }
  return new ConnectError(details, status)
}
