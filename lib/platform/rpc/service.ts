import type { DescService } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'

/** Who may call an RPC: the roles of Multihub, the operator, and internal teams with a token of their own. */
export const CALLERS = [
  'gateway',
  'merchants',
  'payments',
  'balances',
  'support',
  'attachments',
  'notifier',
  'operator',
  'internal',
] as const

/** The name of a caller, as permissions and tokens use it. */
export type CallerName = (typeof CALLERS)[number]

/** For every RPC of a service the callers that may use it. What is not named here is refused. */
export type Permissions<S extends DescService> = { readonly [M in keyof S['method']]: readonly CallerName[] }

/** A service as a process serves it: what it is, who may call it, and what it does. */
export interface RpcService {
  readonly descriptor: DescService
  readonly permissions: Readonly<Record<string, readonly CallerName[]>>
  readonly implementation: Readonly<Record<string, unknown>>
}

/**
 * Ties an implementation to its descriptor and permissions, checked by the compiler: an RPC without a permission
 * or without a method does not type-check.
 */
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
