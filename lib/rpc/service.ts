import type { DescService } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'

/** The callers of RPCs: the roles of Multihub, the operator, and internal teams. */
export const CALLERS = [
  'gateway',
  'merchants',
  'payments',
  'balances',
  'notifier',
  'attachments',
  'support',
  'operator',
  'internal',
] as const

/** The name of a caller, as permissions and tokens use it. */
export type CallerName = (typeof CALLERS)[number]

/** The callers that may use each RPC of a service. All others are refused. */
export type Permissions<S extends DescService> = { readonly [M in keyof S['method']]: readonly CallerName[] }

/** A service that a process serves: its descriptor, its permissions and its implementation. */
export interface RpcService {
  readonly descriptor: DescService
  readonly permissions: Readonly<Record<string, readonly CallerName[]>>
  readonly implementation: Readonly<Record<string, unknown>>
}

/** Combines an implementation with its descriptor and permissions. Every RPC must have both, or it does not compile. */
export function rpcService<S extends DescService>(
  descriptor: S,
  permissions: Permissions<S>,
  implementation: ServiceImpl<S>,
): RpcService {
  return { descriptor, permissions, implementation: implementation as Readonly<Record<string, unknown>> }
}

/** The role that serves a service: the second part of its package, `payments` for `multihub.payments.v1`. */
export function roleOf(descriptor: DescService): string {
  return descriptor.typeName.split('.')[1] ?? descriptor.typeName
}
