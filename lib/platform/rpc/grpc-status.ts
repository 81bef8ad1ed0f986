import { Code, ConnectError } from '@connectrpc/connect'
import { findTrailerError, setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js'

const DETAILS = 'grpc-status-details-bin'

/** A status as a grpc-js server sends it: typed details go as a `google.rpc.Status` in the trailers. */
export function toGrpcStatus(error: ConnectError): Partial<StatusObject> {
  const metadata = new Metadata()
  error.metadata.forEach((value, name) => {
    metadata.set(name, value)
  })
  const encoded = setTrailerStatus(new Headers(), error).get(DETAILS)
  if (encoded !== null) metadata.set(DETAILS, Buffer.from(encoded, 'base64'))
  return { code: Number(error.code), details: error.rawMessage, metadata }
}

/** What a grpc-js client failed with, as a `ConnectError` with its typed details, whatever the other side sent. */
export function fromGrpcStatus({ code, details, metadata }: ServiceError): ConnectError {
  const [encoded] = metadata.get(DETAILS)
  const status: Code = code in Code ? Number(code) : Code.Unknown
  if (encoded instanceof Buffer) {
    try {
      const found = findTrailerError(new Headers({ [DETAILS]: encoded.toString('base64') }))
      if (found !== undefined) return found
    } catch {
      // Details that are no status are worth less than the plain status, which came too.
    }
  }
  return new ConnectError(details, status)
}
