import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, DescService } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'

/** The callers of RPCs: the roles of Multihub, and internal teams. The operator calls through the back office. */
export const CALLERS = [
  'gateway',
  'merchants',
  'payments',
  'balances',
  'notifier',
  'attachments',
  'support',
  'backoffice',
  'internal',
] as const

/** The name of a caller, as handlers and tokens use it. */
export type CallerName = (typeof CALLERS)[number]

/** The answer to one RPC: its function, and the callers that may use it. All others are refused. */
interface RpcHandler<Handle> {
  readonly callers: readonly CallerName[]
  readonly handle: Handle
}

/** Permits an RPC to its callers, next to the function that answers it: `getRoute: by(['payments'], async () => …)`. */
export function by<Handle>(callers: readonly CallerName[], handle: Handle): RpcHandler<Handle> {
  return { callers, handle }
}

/** A service that a process serves: its descriptor and the handlers of its RPCs by their names. */
export interface RpcService {
  readonly descriptor: DescService
  readonly handlers: Readonly<Record<string, RpcHandler<unknown>>>
}

/** An RPC that the project serves: one request with one response, or with a stream of responses. */
export type ServedMethod = DescMethodUnary | DescMethodServerStreaming

/** Whether an RPC has one request and one response. Only the back office serves others, at its door. */
export function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === 'unary'
}

/** The names of the unary RPCs of a service. */
type UnaryNames<S extends DescService> = {
  [M in keyof S['method']]: S['method'][M] extends DescMethodUnary ? M : never
}[keyof S['method']]

/** Combines a descriptor with its handlers. Every unary RPC must have one, and so name its callers, or it does not compile. */
export function rpcService<S extends DescService>(
  descriptor: S,
  handlers: { readonly [M in UnaryNames<S> & keyof ServiceImpl<S>]: RpcHandler<ServiceImpl<S>[M]> },
): RpcService {
  return { descriptor, handlers }
}

/** The role that serves a service: the second part of its package, `payments` for `multihub.payments.v1`. */
export function roleOf(descriptor: Pick<DescService, 'typeName'>): string {
  return descriptor.typeName.split('.')[1] ?? descriptor.typeName
}
