import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import type { Scope } from '#lib/contract/vocabulary.ts'
import type { Caller } from '../auth/caller.ts'
import { type Json, type JsonObject, parseJson } from '../json/parse.ts'
import { isObject, type Schema, type Shape, validate } from '../json/schema.ts'

/** What makes a public method: its name, the one schema of its requests, and what it does with a valid one. */
export interface MethodDefinition<T> {
  /** Its bucket has the same name. */
  readonly name: string
  /** What the credential must have been granted; payment, balance and ping methods need nothing (A8). */
  readonly scope?: Scope
  readonly schema: Schema<T>
  /**
   * Answers the `result` of the envelope: plain JSON. Throws `PublicError` for what the caller may see. `path_id` is
   * what the path names, on a route whose path names something.
   */
  readonly handle: (request: T, caller: Caller, path_id?: string) => Promise<unknown> | unknown
}

/** A public method with its types closed over, as the registry keeps it. */
export interface Method {
  readonly name: string
  readonly scope: Scope | undefined
  /** The shape of its requests, for the merchants' reference. */
  readonly shape: Shape
  /** Validates the request, then does what it asks for. */
  call(request: Json, caller: Caller, path_id?: string): Promise<unknown>
}

/** Defines a public method. */
export function defineMethod<T>({ name, scope, schema, handle }: MethodDefinition<T>): Method {
  return {
    name,
    scope,
    shape: schema.shape,
    async call(request, caller, path_id) {
      return handle(validate(schema, request, caller.environment), caller, path_id)
    },
  }
}

/** The public methods by name. */
export type MethodRegistry = ReadonlyMap<string, Method>

/** Puts methods into a registry. */
export function createRegistry(methods: readonly Method[]): MethodRegistry {
  return new Map(methods.map((method) => [method.name, method]))
}

/** Parses a request, which is an object: anything else is 1005 for the body as a whole (E4). */
export function parseRequest(body: Buffer): JsonObject {
  const request = parseJson(body)
  if (!isObject(request)) throw fieldError(1005, 'body')
  return request
}

/**
 * The method that a request names. One that is unknown, or disabled for the credential, is 1002 (E8); so is a name that
 * is no sound text, because what E5 says of texts is for the schema of a method to find.
 */
export function findMethod(registry: MethodRegistry, request: JsonObject, caller: Caller): Method {
  const name = Object.hasOwn(request, 'method') ? request['method'] : undefined
  if (typeof name !== 'string') throw fieldError(1005, 'method')
  const method = registry.get(name)
  if (method === undefined) throw new PublicError(1002)
  return enabledMethod(method, caller)
}

/** The method, unless it is switched off for the credential: then it is 1002, as if there were none (E8). */
export function enabledMethod(method: Method, { disabled_methods }: Caller): Method {
  if (disabled_methods.has(method.name)) throw new PublicError(1002)
  return method
}

/** Refuses with 3008 whom the method's scope was not granted. */
export function checkScope({ scope }: Method, { scopes }: Caller): void {
  if (scope !== undefined && !scopes.has(scope)) throw new PublicError(3008)
}
