import { fieldError, PublicError } from '#lib/errors/public-error.ts'
import type { Caller } from '../auth/caller.ts'
import type { Json } from '../json/parse.ts'
import { isObject, type Schema, type Shape, validate } from '../json/schema.ts'

/** What makes a public method: its name, the one schema of its requests, and what it does with a valid one. */
export interface MethodDefinition<T> {
  readonly name: string
  readonly schema: Schema<T>
  /** Answers the `result` of the envelope: plain JSON. Throws `PublicError` for what the caller may see. */
  readonly handle: (request: T, caller: Caller) => Promise<unknown> | unknown
}

/** A public method with its types closed over, as the registry keeps it. */
export interface Method {
  readonly name: string
  /** The shape of its requests, for the merchants' reference. */
  readonly shape: Shape
  /** Validates the request, then does what it asks for. */
  call(request: Json, caller: Caller): Promise<unknown>
}

/** Defines a public method. */
export function defineMethod<T>({ name, schema, handle }: MethodDefinition<T>): Method {
  return {
    name,
    shape: schema.shape,
    async call(request, caller) {
      return handle(validate(schema, request, caller.environment), caller)
    },
  }
}

/** The public methods by name. */
export type MethodRegistry = ReadonlyMap<string, Method>

/** Puts methods into a registry. */
export function createRegistry(methods: readonly Method[]): MethodRegistry {
  return new Map(methods.map((method) => [method.name, method]))
}

/** The method that a request names. One that is unknown, or disabled for the credential, is 1002 (E8). */
export function findMethod(registry: MethodRegistry, request: Json, { disabled_methods }: Caller): Method {
  if (!isObject(request)) throw fieldError(1005, 'body')
  const name = Object.hasOwn(request, 'method') ? request['method'] : undefined
  if (typeof name !== 'string') throw fieldError(1005, 'method')
  const method = registry.get(name)
  if (method === undefined || disabled_methods.has(name)) throw new PublicError(1002)
  return method
}
