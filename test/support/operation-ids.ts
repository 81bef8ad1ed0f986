import { uuidv7 } from '#lib/base/ids.ts'
import { lowerFirst } from '#lib/base/letter-case.ts'

/** The operator's RPCs whose `operation_id` most tests do not care about. */
const CREATES: ReadonlySet<string> = new Set([
  'createMerchant',
  'createCredential',
  'createRoute',
  'createEndpoint',
  'openChargeback',
])

/** Whether `method`, in either spelling, must have an `operation_id`. */
export function needsOperationId(method: string): boolean {
  return CREATES.has(lowerFirst(method))
}

/** A client whose creations have an `operation_id` of their own, unless the test gives one. An empty one is kept. */
export function withOperationIds<C extends object>(client: C): C {
  return new Proxy(client, {
    get(target, name) {
      const call: unknown = Reflect.get(target, name)
      if (typeof name !== 'string' || !needsOperationId(name) || typeof call !== 'function') return call
      return (request: object, ...more: unknown[]) => call({ operationId: uuidv7(), ...request }, ...more)
    },
  })
}
