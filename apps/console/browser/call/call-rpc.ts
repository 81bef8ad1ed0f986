import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { createConnectTransport } from '@connectrpc/connect-web'
import { failureOf } from '../../values/problem.ts'

const CALL_MAX_MS = 30_000

const transport = createConnectTransport({ baseUrl: '/', useBinaryFormat: true })

/** What surrounds one call. */
interface CallOptions {
  /** Why a person does this; it goes into the audit trail. */
  readonly reason?: string
  readonly signal?: AbortSignal
}

/** Calls an RPC of the back office under the session of this browser. Throws `ConnectError`. */
export async function callRpc<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  { reason, signal }: CallOptions = {},
): Promise<MessageShape<O>> {
  // Another site cannot send this header, so its presence proves that a page of the back office calls.
  const headers = new Headers({ 'x-multihub-csrf': '1' })
  if (reason !== undefined) headers.set('x-multihub-reason', encodeURIComponent(reason))
  try {
    return (await transport.unary(method, signal, CALL_MAX_MS, headers, request)).message
  } catch (error) {
    throw failureOf(error)
  }
}
