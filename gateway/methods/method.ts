import type { Keys } from '#lib/base/crypto/keys.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { type MethodName, RESEND_METHOD, type Scope, supportResourceOf } from '#lib/contract/methods.ts'
import type { JsonSchema } from '#lib/contract/view.ts'
import type { CallbackHostCheck } from '#lib/http/callback-host.ts'
import type { RegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { Caller } from '../auth/credential.ts'
import type { PaymentIds } from '../http/exchange.ts'
import { type Json, type JsonObject, parseJson } from '../json/parse-json.ts'
import { isObject, type Schema, type Shape, validate } from '../json/schema.ts'

/** The name of a public method. The resend path counts as one, although it has a path of its own. */
export type PublicMethodName = MethodName | typeof RESEND_METHOD

/** What the handlers of the methods work with. */
export interface MethodDeps {
  /** Makes the RPC client of a service. */
  readonly clientOf: ClientOf
  readonly registry_cache: Pick<RegistryCache, 'merchantRoutes'>
  /** Seals the signing secret of a payment's own callback address. */
  readonly keys: Keys<'webhook'>
  /** Whether callbacks may be sent to a URL (N9). */
  readonly acceptsCallbackUrl: (url: string, environment: Environment) => boolean
  /** Whether the host of such a URL has no refused address, as far as name servers answer in time (N9). */
  readonly acceptsCallbackHost: CallbackHostCheck
  /** The URL of the public interface, which begins every link in a response. */
  readonly publicUrl: () => string
  /** How long the payments service may take to create a payment: longer than the provider may take (P5). */
  readonly create_timeout_ms: number
}

/**
 * Does what a valid request asks for and returns the `result` of the envelope as plain JSON. Throws `PublicError` for
 * refusals.
 */
export type Handler<T> = (request: T, caller: Caller, call: Call) => Promise<unknown> | unknown

/** What a handler gets of the exchange besides the request. */
export interface Call {
  /** The id in the public path, if the path has one. */
  readonly path_id?: string | undefined
  /** Says which payment the request is about, as far as it is known, for the log line of the exchange. */
  isAbout(payment: PaymentIds): void
}

/** All that describes a public method to the gateway and to its documentation. */
export interface MethodDescription {
  /** Its name in requests, which is also the name of its rate-limit bucket. */
  readonly name: PublicMethodName
  /** The scope that a credential needs; payment, balance and ping methods need none (A8). */
  readonly scope?: Scope
  /** Calls per minute, unless the operator gives a credential another quota; unlimited without one (E10). */
  readonly default_quota?: number
  /** Whether its requests may use the room that is kept for reads (E10). */
  readonly is_read?: true
  /** One line for the API reference: what the method does. */
  readonly summary: string
  /** What a merchant must know beyond the summary. */
  readonly description: string
  /** The codes that only some methods answer with, besides `COMMON_REFUSALS`; the test client compares them. */
  readonly refusals: readonly ErrorCode[]
  /** A request that the gateway accepts, without the name of the method in the envelope. */
  readonly example: Readonly<Record<string, unknown>>
  /** The shape of the `result` in the envelope. */
  readonly result: JsonSchema
  /** The schemas that `result` refers to by name. */
  readonly result_components?: Readonly<Record<string, JsonSchema>>
}

/** A public method as its file declares it: the table of methods, the limits and the API reference are made from it. */
export interface MethodDescriptor<T> extends MethodDescription {
  readonly request: Schema<T>
  /** Makes the handler, once per process. */
  readonly createHandler: (deps: MethodDeps) => Handler<T>
}

/** A declared public method, whatever the type of its requests. */
export interface PublicMethod extends MethodDescription {
  readonly request: Shape
  /** Makes the callable method, with a handler that uses these dependencies. */
  readonly bind: (deps: MethodDeps) => Method
}

/** A public method that can be called. */
export interface Method {
  readonly name: PublicMethodName
  readonly scope: Scope | undefined
  readonly is_read: boolean
  /** Validates the request, then handles it. */
  call(request: Json, caller: Caller, call: Call): Promise<unknown>
}

/** Declares a public method. */
export function defineMethod<T>({
  request: schema,
  createHandler,
  ...description
}: MethodDescriptor<T>): PublicMethod {
  const { name, scope, is_read = false, example } = description
  return {
    ...description,
    example: name === RESEND_METHOD ? example : { method: name, ...example },
    request: schema.shape,
    bind(deps) {
      const handle = createHandler(deps)
      const { acceptsCallbackUrl, acceptsCallbackHost } = deps
      return {
        name,
        scope,
        is_read,
        async call(request, caller, call) {
          const context = { environment: caller.environment, acceptsCallbackUrl, acceptsCallbackHost }
          return handle(await validate(schema, request, context), caller, call)
        },
      }
    },
  }
}

/** The callable methods of the request envelope, by name. */
export type MethodTable = ReadonlyMap<string, Method>

/** Parses a request body, which must be an object; anything else is 1005 for the body as a whole (E4). */
export function parseRequest(body: Buffer): JsonObject {
  const request = parseJson(body)
  if (!isObject(request)) throw fieldError(1005, 'body')
  return request
}

/**
 * Finds the method that a request names. An unknown method, or one that is disabled for the credential, is 1002 (E8). A
 * name with a lone surrogate or U+0000 is an unknown method: E5 makes such texts 9000 only in fields of a known method.
 */
export function findMethod(methods: MethodTable, request: JsonObject, caller: Caller): Method {
  const name = Object.hasOwn(request, 'method') ? request['method'] : undefined
  if (typeof name !== 'string') throw fieldError(1005, 'method')
  const method = methods.get(name)
  if (method === undefined) throw new PublicError(1002)
  return enabledMethod(method, caller)
}

/**
 * Returns the method. If it is disabled for the credential, or a support method that is not switched on for it (A10),
 * throws 1002, as for an unknown method (E8).
 */
export function enabledMethod(method: Method, { disabled_methods, support_resources }: Caller): Method {
  const resource = supportResourceOf(method.name)
  const is_switched_on = resource === undefined || support_resources.has(resource)
  if (!is_switched_on || disabled_methods.has(method.name)) throw new PublicError(1002)
  return method
}

/** Throws 3008 if the credential lacks the scope of the method. */
export function checkScope({ scope }: Method, { scopes }: Caller): void {
  if (scope !== undefined && !scopes.has(scope)) throw new PublicError(3008)
}
